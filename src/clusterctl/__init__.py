"""Verified GPU and EFA training clusters on Amazon EKS."""

__version__ = "0.1.0"
