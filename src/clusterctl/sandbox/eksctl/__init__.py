"""A stand-in for eksctl: the same commands, texts, stacks and surprises, against the AWS of the sandbox."""

VERSION = "0.230.0"
