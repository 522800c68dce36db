"""The test of the fabric that `verify --fabric` adds to a verification: a job, and its verdict as one more check."""

from __future__ import annotations

from typing import Any

from clusterctl.errors import VerificationError
from clusterctl.model.trainresult import check_document
from clusterctl.model.verification import Check, CheckState
from clusterctl.wiring.training import Outcome

FABRIC_TEST = "job-allreduce"  # needs no operator


def fabric_check(outcome: Outcome) -> dict[str, Any]:
    """The test's verdict as one check of a verification. One node alone proves nothing, and is skipped."""
    verdict, reason = outcome.document["verdict"], outcome.document["reason"]
    if outcome.error:
        failed = Check("fabric", CheckState.FAILED, "error", outcome.error.message, outcome.error.hint)
        return check_document(failed)
    state = CheckState.OK if outcome.document["required"] else CheckState.SKIPPED
    return check_document(Check("fabric", state, "error", f"NCCL test: {verdict} ({reason})"))


def untested(outcome: Outcome) -> VerificationError | None:
    """A test that could not prove anything is no pass: there was one node, and nothing to cross."""
    if outcome.document["required"]:
        return None
    return VerificationError(
        f"the fabric cannot be tested: {outcome.document['reason']}", hint="it takes two nodes: GPU_NODE_COUNT"
    )


def skipped_fabric_check() -> dict[str, Any]:
    message = "not tested: the nodes are not as they should be"
    return check_document(Check("fabric", CheckState.SKIPPED, "error", message))
