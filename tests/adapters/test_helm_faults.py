"""Helm's refusals in helm's own words: each is named, with its remedy and its exit code."""

from __future__ import annotations

import pytest

from clusterctl.adapters.helm_faults import explained
from clusterctl.errors import ToolFailedError
from clusterctl.model.operators import volcano
from clusterctl.model.settings import Settings

VOLCANO = volcano(Settings())
WEBHOOK = (
    'Error: Internal error occurred: failed calling webhook "validatejob.volcano.sh": failed to call webhook: Post '
    '"https://volcano-admission-service.volcano-system.svc:443/jobs/validate?timeout=10s": '
)


@pytest.mark.parametrize(
    ("said", "code", "message", "hint"),
    [
        ('Error: chart "volcano" version "9.9.9" not found in https://volcano-sh.github.io/helm-charts repository',
         2, "no chart volcano 1.15.2", "status --settings"),
        ('Error: looks like "https://x" is not a valid chart repository or cannot be reached: dial tcp: no such host',
         1, "cannot be fetched", "CLUSTERCTL_CHARTS"),
        (f'{WEBHOOK}service "volcano-admission-service" not found', 1, "validatejob.volcano.sh cannot be called",
         "service volcano-admission-service in volcano-system"),
        (f"{WEBHOOK}tls: failed to verify certificate: x509: certificate signed by unknown authority", 1,
         "x509: certificate signed by unknown authority", "mend service"),
        ('Error: namespaces "x" is forbidden: unable to create new content because it is being terminated', 8,
         "namespace volcano-system is being deleted", "kubectl get namespace"),
        ("Error: values do not meet the schema: additional properties 'tolerration' not allowed",
         2, "knows no value 'tolerration'", "helm show values"),
        ('Error: ClusterRole "x" exists and cannot be imported into the current release: invalid ownership metadata',
         2, "somebody else made", "leave this stage out"),
    ],
)  # fmt: skip
def test_a_refusal_is_named_with_its_remedy(said: str, code: int, message: str, hint: str) -> None:
    error = explained(ToolFailedError("helm upgrade failed", output=said), VOLCANO)
    assert error.exit_code == code
    assert message in error.message
    assert hint in error.hint
    assert said in error.details


def test_what_nobody_knows_stays_as_it_was() -> None:
    problem = ToolFailedError("helm upgrade failed", output="Error: something new")
    assert explained(problem, VOLCANO) is problem
