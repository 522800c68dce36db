"""EKS tokens: a presigned STS call that only the cluster it names will take. Never in a file, never in an argument."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from clusterctl.adapters.aws.faults import translated
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.kube import KubeAccess

CREDENTIAL_VERSION = "client.authentication.k8s.io/v1"
LIFETIME = timedelta(minutes=14)  # EKS takes a token for 15
_PREFIX = "k8s-aws-v1."
_HEADER = "x-k8s-aws-id"
_URL_S = 60  # what EKS itself asks of the presigned URL


def wall_clock() -> datetime:
    """Real time: tokens are signed for it, also where simulated time runs faster."""
    return datetime.now(UTC)


class EksTokens:
    """Makes credentials for Kubernetes' exec protocol from AWS credentials, without the AWS CLI."""

    def __init__(self, session: AwsSession, now: Callable[[], datetime] = wall_clock) -> None:
        self._session = session
        self._now = now

    def token(self, region: str, cluster: str) -> str:
        """Raises AccessError without credentials."""
        with translated(f"sign a token for {cluster}"):
            sts = self._session.client("sts", region)
            _teach_cluster_header(sts)
            url = sts.generate_presigned_url(
                "get_caller_identity", Params={_HEADER: cluster}, ExpiresIn=_URL_S, HttpMethod="GET"
            )
        return _PREFIX + base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")

    def exec_credential(self, access: KubeAccess) -> str:
        """An ExecCredential as JSON."""
        expires = (self._now() + LIFETIME).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"expirationTimestamp": expires, "token": self.token(access.region, access.cluster)}
        return json.dumps({"kind": "ExecCredential", "apiVersion": CREDENTIAL_VERSION, "spec": {}, "status": status})


def _teach_cluster_header(sts: Any) -> None:
    """STS's model knows no such parameter: it is taken out before validation, and signed as a header."""
    events = sts.meta.events
    events.register("provide-client-params.sts.GetCallerIdentity", _take_out, unique_id="clusterctl-take-out")
    events.register("before-sign.sts.GetCallerIdentity", _put_in, unique_id="clusterctl-put-in")


def _take_out(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _HEADER in params:
        context[_HEADER] = params.pop(_HEADER)


def _put_in(request: Any, **_: Any) -> None:
    if _HEADER in request.context:
        request.headers[_HEADER] = request.context[_HEADER]
