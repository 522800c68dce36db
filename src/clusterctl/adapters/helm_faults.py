"""What helm's refusals mean, and what helps: charts that are not there, registries, webhooks, namespaces that go."""

from __future__ import annotations

import re

from clusterctl.errors import (
    BusyError,
    ClusterctlError,
    StageIncompleteError,
    ToolFailedError,
    UnreachableError,
    UsageError,
)
from clusterctl.model.kube import Component

_NO_VERSION = ("no chart version found", "not found in", ": not found", "improper constraint", "chart not found")
_NO_WAY = (
    "no such host", "dial tcp", "connection refused", "i/o timeout", "TLS handshake timeout", "proxyconnect",
    "failed to fetch", "looks like", "is not a valid chart repository", "Client.Timeout",
)  # fmt: skip
_WEBHOOK = re.compile(
    r'failed calling webhook "(?P<name>[^"]+)".*?: (?P<why>[^:\n]+(?:: x509[^\n]*)?)\s*$', re.MULTILINE
)
_SERVICE = re.compile(r"https://(?P<service>[\w-]+)\.(?P<namespace>[\w-]+)\.svc")
_UNKNOWN_VALUE = re.compile(
    r"additional propert\w+ (?P<keys>.+?) not allowed|Additional property (?P<key>\S+) is not allowed"
)


def explained(problem: ToolFailedError, component: Component) -> ClusterctlError:
    """The same failure as an error that says what to do; unchanged where nothing is known of it."""
    said, chart, title = problem.output, component.chart, component.title
    if found := _WEBHOOK.search(said):
        return _webhook(found["name"], found["why"], said, title)
    if "is being terminated" in said:
        return BusyError(
            f"namespace {component.namespace} is being deleted, {title} cannot go into it",
            hint=f"kubectl get namespace {component.namespace} -o yaml says what holds it", details=said,
        )  # fmt: skip
    if found := _UNKNOWN_VALUE.search(said):
        keys = found["keys"] or found["key"]
        return UsageError(
            f"the chart {chart.name} knows no value {keys}", hint="helm show values lists them", details=said
        )
    if "cannot be imported into the current release" in said or "invalid ownership metadata" in said:
        return UsageError(
            f"{title} finds objects of its names that somebody else made: {_last(said)}",
            hint="remove those, or keep them and leave this stage out", details=said,
        )  # fmt: skip
    if any(words in said for words in _NO_WAY):
        return UnreachableError(
            f"the chart {chart.name} cannot be fetched: {_last(said)}",
            hint="check the way to its repository, or let CLUSTERCTL_CHARTS name a folder with the chart", details=said,
        )  # fmt: skip
    if any(words in said for words in _NO_VERSION):
        return UsageError(
            f"there is no chart {chart.name} {chart.version}",
            hint="clusterctl status --settings says where the version comes from",
            details=said,
        )
    return problem


def _webhook(name: str, why: str, said: str, title: str) -> StageIncompleteError:
    where = _SERVICE.search(said)
    service = f"service {where['service']} in {where['namespace']}" if where else "its service"
    return StageIncompleteError(
        f"{title} is refused: webhook {name} cannot be called ({why.strip()})",
        hint=f"mend {service}; if it was removed for good: kubectl delete the webhook configuration that names {name}",
        details=said,
    )


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[-300:] if lines else "helm does not say why"
