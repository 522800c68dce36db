"""The ports, kept with real things: boto3, eksctl, helm, kubectl and files."""
