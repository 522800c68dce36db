"""GetProducts, answered in three regions as the real service is."""

from __future__ import annotations

import json

from moto.core.exceptions import JsonRESTError
from moto.core.responses import BaseResponse

from clusterctl.sandbox.cloud.answering import page
from clusterctl.sandbox.cloud.pricing.products import find
from clusterctl.sandbox.cloud.world import World


class PricingResponse(BaseResponse):  # type: ignore[misc]
    """The price list; `PriceList` is a list of JSON strings."""

    world: World

    def __init__(self) -> None:
        super().__init__(service_name="pricing")

    def get_products(self) -> str:
        request = json.loads(self.body or "{}")
        service = request.get("ServiceCode")
        if not service:
            raise JsonRESTError("InvalidParameterException", "ServiceCode is required")
        wanted = {row["Field"]: row["Value"] for row in request.get("Filters", [])}
        limit = min(int(request.get("MaxResults") or 100), 100)
        shown, following = page(find(self.world, service, wanted), request.get("NextToken"), limit)
        answer = {"FormatVersion": "aws_v1", "PriceList": [json.dumps(product.row()) for product in shown]}
        return json.dumps(answer | ({"NextToken": following} if following else {}))
