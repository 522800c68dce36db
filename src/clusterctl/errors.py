"""The errors clusterctl raises on purpose, one exit code each.

ClusterctlError 1
├── UsageError 2                 a setting, flag or file that cannot be right
├── CapacityUnavailableError 3   no place asked has room
├── QuotaTooSmallError 4         the account may not run that many vCPUs
├── VerificationError 5          the cluster is not what was asked for
├── AccessError 6                credentials or permission
├── ToolMissingError 7           a tool is missing or too old
├── BusyError 8                  somebody else is at work on the same thing
├── LeftoversError 9             teardown could not remove everything
├── JobFailedError 10            the training job failed
├── FabricError 11               the job ran, but not over EFA
├── InterruptedRunError 130      stopped by the user, in-flight work cleaned
├── ToolFailedError 1            a child process failed in a way nobody foresaw
├── UnreachableError 1           the Kubernetes API does not answer
└── StageIncompleteError 1       a stage ran, and the world does not show its result
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self


class ClusterctlError(Exception):
    """A failure the user can act on: what happened and why, a hint, and details for `-v`.

    `document` is what a JSON reader gets beside the error: what was found out before it failed.
    """

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details
        self.document: Mapping[str, Any] = {}

    def with_document(self, document: Mapping[str, Any]) -> Self:
        self.document = document
        return self


class UsageError(ClusterctlError):
    """A setting, flag or file that cannot be right."""

    exit_code = 2
    kind = "usage"


class CapacityUnavailableError(ClusterctlError):
    """No place that was asked for has room for the nodes."""

    exit_code = 3
    kind = "no-capacity"


class QuotaTooSmallError(ClusterctlError):
    """The account's vCPU quota cannot hold the nodes."""

    exit_code = 4
    kind = "quota"


class VerificationError(ClusterctlError):
    """The cluster exists and is not what was asked for."""

    exit_code = 5
    kind = "verification"


class AccessError(ClusterctlError):
    """No credentials, expired ones, or a permission that is missing."""

    exit_code = 6
    kind = "access"


class ToolMissingError(ClusterctlError):
    """A needed tool is not installed, or too old."""

    exit_code = 7
    kind = "tool"


class BusyError(ClusterctlError):
    """Another run holds the lock, or a resource is in transition."""

    exit_code = 8
    kind = "busy"


class LeftoversError(ClusterctlError):
    """Something that costs money or blocks a name could not be removed."""

    exit_code = 9
    kind = "leftovers"


class JobFailedError(ClusterctlError):
    """The training job failed."""

    exit_code = 10
    kind = "job-failed"


class FabricError(ClusterctlError):
    """The job ran, but not over EFA."""

    exit_code = 11
    kind = "fabric"


class InterruptedRunError(ClusterctlError):
    """The user stopped the run, and what was in flight has been cleaned."""

    exit_code = 130
    kind = "interrupted"


class ToolFailedError(ClusterctlError):
    """A child process failed; `output` holds the end of what it printed."""

    kind = "tool-failed"

    def __init__(self, message: str, *, output: str = "", hint: str = "", details: str = "") -> None:
        super().__init__(message, hint=hint, details=details or output)
        self.output = output


class UnreachableError(ClusterctlError):
    """The Kubernetes API of a cluster does not answer."""

    kind = "unreachable"


class StageIncompleteError(ClusterctlError):
    """A stage ran, and the world does not show its result."""

    kind = "incomplete"


def as_error(problem: BaseException) -> ClusterctlError:
    """Any exception as one of ours; a bug keeps its traceback in the details."""
    if isinstance(problem, ClusterctlError):
        return problem
    if isinstance(problem, KeyboardInterrupt):
        return InterruptedRunError("interrupted")
    import traceback

    text = "".join(traceback.format_exception(problem))
    return ClusterctlError(
        f"unexpected {type(problem).__name__}: {problem}",
        hint="run it again with -v and report what it shows",
        details=text,
    )
