"""What ends the stand-in with exit code 1."""

from __future__ import annotations


class EksctlError(Exception):
    """A failure in eksctl's own words; printed after `Error: `."""
