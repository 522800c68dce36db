"""The regions of the account: which exist, which are enabled, and what was meant by a misspelt one."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterable

from clusterctl.adapters.aws.faults import translated
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.errors import UsageError


class Regions:
    """DescribeRegions, asked once."""

    def __init__(self, aws: AwsSession) -> None:
        self._aws = aws
        self._lock = threading.Lock()
        self._enabled: dict[str, bool] = {}

    def enabled(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, enabled in self._all().items() if enabled))

    def check(self, wanted: Iterable[str]) -> None:
        """Raises UsageError for a region that does not exist, and for one that the account has not enabled."""
        known = self._all()
        for region in wanted:
            if region not in known:
                meant = " or ".join(sorted(difflib.get_close_matches(region, known, n=2, cutoff=0.8)))
                raise UsageError(
                    f"there is no region {region}",
                    hint=f"did you mean {meant}?" if meant else "aws ec2 describe-regions --all-regions",
                )
            if not known[region]:
                raise UsageError(
                    f"region {region} is not enabled for this account",
                    hint=f"aws account enable-region --region-name {region} (it takes minutes)",
                )

    def _all(self) -> dict[str, bool]:
        with self._lock:
            if not self._enabled:
                with translated("list the regions of the account"):
                    answer = self._aws.client("ec2").describe_regions(AllRegions=True)
                self._enabled = {
                    one["RegionName"]: one.get("OptInStatus") != "not-opted-in" for one in answer["Regions"]
                }
            return self._enabled
