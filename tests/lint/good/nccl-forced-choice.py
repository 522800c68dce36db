"""Reads what NCCL was told."""

import os

os.environ["NCCL_DEBUG"] = "INFO"
algorithm = os.environ.get("NCCL_ALGO", "chosen by NCCL")
