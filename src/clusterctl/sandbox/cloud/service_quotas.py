"""The Service Quotas API for EC2's vCPU quotas; other services stay with moto."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from moto.core.exceptions import JsonRESTError
from moto.servicequotas.responses import ServiceQuotasResponse

from clusterctl.sandbox.cloud.answering import page
from clusterctl.sandbox.cloud.extension import Extension, bound_to
from clusterctl.sandbox.cloud.quotas import QUOTAS, IncreaseRequest, Quota

if TYPE_CHECKING:
    from clusterctl.sandbox.cloud.world import World

_EC2_NAME = "Amazon Elastic Compute Cloud (Amazon EC2)"


class HonestQuotasResponse(ServiceQuotasResponse):  # type: ignore[misc]
    """Applied values, defaults and requests for more."""

    world: World
    region: str

    def get_service_quota(self) -> Any:
        if not self._is_ec2():
            return super().get_service_quota()
        quota = self._known()
        value = self.world.quotas.applied(self.region, quota.code)
        if value is None:
            raise _missing(f"The quota {quota.code} has no applied value in {self.region}.")
        return json.dumps({"Quota": self._row(quota, value)})

    def get_aws_default_service_quota(self) -> str:
        quota = self._known()
        return json.dumps({"Quota": self._row(quota, quota.default)})

    def list_service_quotas(self) -> str:
        book = self.world.quotas
        applied = [(quota, book.applied(self.region, quota.code)) for quota in self._listed()]
        return self._page("Quotas", [self._row(quota, value) for quota, value in applied if value is not None])

    def list_aws_default_service_quotas(self) -> Any:
        if not self._is_ec2():
            return super().list_aws_default_service_quotas()
        return self._page("Quotas", [self._row(quota, quota.default) for quota in self._listed()])

    def request_service_quota_increase(self) -> str:
        quota, desired = self._known(), float(self._asked().get("DesiredValue") or 0)
        if desired <= self.world.quotas.limit(self.region, quota.code):
            raise JsonRESTError("IllegalArgumentException", "The desired value must exceed the current value.")
        if any((r.region, r.code) == (self.region, quota.code) for r in self.world.quotas.requests):
            message = "Only one open service quota increase request is allowed per quota."
            raise JsonRESTError("ResourceAlreadyExistsException", message)
        request = IncreaseRequest(uuid4().hex, self.region, quota.code, desired, self.world.now())
        self.world.quotas.requests.append(request)
        return json.dumps({"RequestedQuota": self._request_row(request)})

    def list_requested_service_quota_change_history(self) -> str:
        here = [r for r in self.world.quotas.requests if r.region == self.region]
        return self._page("RequestedQuotas", [self._request_row(request) for request in here])

    def list_requested_service_quota_change_history_by_quota(self) -> str:
        code = self._known().code
        here = [r for r in self.world.quotas.requests if (r.region, r.code) == (self.region, code)]
        return self._page("RequestedQuotas", [self._request_row(request) for request in here])

    def get_requested_service_quota_change(self) -> str:
        wanted = self._asked().get("RequestId")
        request = next((r for r in self.world.quotas.requests if r.request_id == wanted), None)
        if request is None:
            raise _missing("The request does not exist.")
        return json.dumps({"RequestedQuota": self._request_row(request)})

    def _asked(self) -> dict[str, Any]:
        asked: dict[str, Any] = json.loads(self.body or "{}")
        return asked

    def _is_ec2(self) -> bool:
        return self._asked().get("ServiceCode") == "ec2"

    def _known(self) -> Quota:
        asked = self._asked()
        quota = QUOTAS.get(str(asked.get("QuotaCode")))
        if quota is None or asked.get("ServiceCode") != "ec2":
            raise _missing("The request failed because the specified service quota does not exist.")
        return quota

    def _listed(self) -> list[Quota]:
        asked = self._asked()
        if asked.get("ServiceCode") != "ec2":
            raise _missing("The request failed because the specified service does not exist.")
        code = asked.get("QuotaCode")
        return [quota for quota in QUOTAS.values() if code in (None, quota.code)]

    def _page(self, key: str, rows: list[dict[str, Any]]) -> str:
        asked = self._asked()
        limit = min(int(asked.get("MaxResults") or 100), 100)
        shown, following = page(rows, asked.get("NextToken"), limit)
        return json.dumps({key: shown} | ({"NextToken": following} if following else {}))

    def _row(self, quota: Quota, value: float) -> dict[str, Any]:
        row = {
            "ServiceCode": "ec2",
            "ServiceName": _EC2_NAME,
            "QuotaArn": f"arn:aws:servicequotas:{self.region}:{self.world.account_id}:ec2/{quota.code}",
            "QuotaCode": quota.code,
            "QuotaName": quota.name,
            "Value": value,
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }
        return row if quota.usage_class is None else row | {"UsageMetric": _usage_metric(quota.usage_class)}

    def _request_row(self, request: IncreaseRequest) -> dict[str, Any]:
        return {
            "Id": request.request_id,
            "CaseId": "",
            "ServiceCode": "ec2",
            "ServiceName": _EC2_NAME,
            "QuotaCode": request.code,
            "QuotaName": QUOTAS[request.code].name,
            "DesiredValue": request.desired,
            "Status": request.status(self.world.now()),
            "Created": request.created.timestamp(),
        }


def _usage_metric(usage_class: str) -> dict[str, Any]:
    dimensions = {"Service": "EC2", "Type": "Resource", "Resource": "vCPU", "Class": usage_class}
    return {
        "MetricNamespace": "AWS/Usage",
        "MetricName": "ResourceCount",
        "MetricDimensions": dimensions,
        "MetricStatisticRecommendation": "Maximum",
    }


def _missing(message: str) -> JsonRESTError:
    return JsonRESTError("NoSuchResourceException", message)


def extension(world: World) -> Extension:
    """Service Quotas for this world."""
    handler = bound_to(world, HonestQuotasResponse).dispatch
    return Extension(
        name="service-quotas",
        url_paths={"servicequotas": {"{0}/$": handler}},
        preload=("servicequotas",),
    )
