"""The survey of one region: part by part, so that what was answered counts even if the rest is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusterctl.adapters.aws import offerings, quotas
from clusterctl.adapters.aws.faults import AWS_FAULTS, code_of, failure_of
from clusterctl.adapters.aws.prices import PriceAnswer
from clusterctl.adapters.aws.reservations import list_alive
from clusterctl.adapters.aws.scores import Scores
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.adapters.aws.subnets import private_by_zone, subnets_of
from clusterctl.model.capacity import Question, RegionFacts
from clusterctl.model.failures import Cause, Failure, Remedy, Scope
from clusterctl.model.instances import quota_code

ALWAYS = ("zones", "offerings", "types")
IF_OFFERED = ("reservations", "running", "quotas", "subnets")


def unanswered(limit_s: float) -> Failure:
    """What a part is that did not come in time: unknown, and nothing else."""
    message = f"no answer within {limit_s:.0f} s"
    return Failure(Cause.TRANSIENT, Scope.CALL, Remedy.RETRY, "NoAnswer", message)


class RegionSurvey:
    """Runs in one worker; may be read by another thread at any time."""

    def __init__(self, aws: AwsSession, question: Question, region: str, account_id: str) -> None:
        self._aws = aws
        self._question = question
        self._region = region
        self._account_id = account_id
        self._answers: dict[str, Any] = {}
        self._problems: dict[str, Failure] = {}

    def run(self) -> None:
        """Ask for every part. Where nothing is offered, the rest does not matter."""
        ec2 = self._aws.client("ec2", self._region)
        names = self._question.instance_types
        self._part("zones", lambda: offerings.zones(ec2))
        self._part("offerings", lambda: offerings.offered(ec2, names))
        self._part("types", lambda: offerings.instance_types(ec2, names))
        if not self._answers.get("offerings") and "offerings" in self._answers:
            return
        self._part("reservations", lambda: list_alive(ec2, self._region))
        self._part("running", lambda: self._used(ec2))
        self._part("quotas", self._quotas)
        if self._question.cluster:
            self._part("subnets", self._subnets)

    def facts(self, scores: tuple[Scores, Failure | None], prices: PriceAnswer, late: Failure | None) -> RegionFacts:
        """All that is known by now. `late` stands for the parts that have not come."""
        answers, problems = dict(self._answers), dict(self._problems)
        if late:
            expected = (*ALWAYS, *IF_OFFERED) if self._question.cluster else (*ALWAYS, *IF_OFFERED[:-1])
            problems |= {part: late for part in expected if part not in answers and part not in problems}
        problems |= {part: one for part, one in (("scores", scores[1]), ("prices", prices.problem)) if one}
        zones = answers.get("zones", ())
        ids = {zone.zone_id for zone in zones}
        subnets, free = answers.get("subnets", (None, {}))
        return RegionFacts(
            region=self._region,
            zones=zones,
            types=answers.get("types", {}),
            offered=answers.get("offerings", frozenset()),
            quotas=answers.get("quotas", {}),
            scores={place: score for place, score in scores[0].items() if place[1] in ids},
            subnets=subnets,
            free_addresses=free,
            reservations=answers.get("reservations", ()),
            prices=prices.of(self._region, (*self._question.instance_types, *self._question.priced)),
            problems=problems,
        )

    def _part(self, name: str, ask: Callable[[], Any]) -> None:
        try:
            self._answers[name] = ask()
        except AWS_FAULTS as fault:
            self._problems[name] = failure_of(fault)

    def _used(self, ec2: Any) -> dict[str, int]:
        """vCPUs that count against quotas: what runs, and what reservations hold unused."""
        running = quotas.running_vcpus(ec2)
        idle = quotas.idle_vcpus(ec2, self._answers.get("reservations", ()), self._account_id)
        return {code: running.get(code, 0) + idle.get(code, 0) for code in running.keys() | idle.keys()}

    def _quotas(self) -> Any:
        offered = {name for name, _ in self._answers.get("offerings", ())}
        names = [name for name in self._question.instance_types if name in offered or not offered]
        codes = dict.fromkeys(quota_code(name) for name in names)
        missing = [self._problems[part] for part in ("reservations", "running") if part in self._problems]
        problem = f"what runs is unknown, {missing[0].cause.value}: {missing[0].message}" if missing else ""
        used = None if missing else self._answers["running"]
        return quotas.quotas(self._aws.client("service-quotas", self._region), codes, used, problem)

    def _subnets(self) -> tuple[dict[str, str] | None, dict[str, int]]:
        """Private subnet and free addresses by zone; None without a cluster of that name."""
        try:
            cluster = self._aws.client("eks", self._region).describe_cluster(name=self._question.cluster)["cluster"]
        except AWS_FAULTS as fault:
            if code_of(fault) == "ResourceNotFoundException":
                return None, {}
            raise
        network = cluster["resourcesVpcConfig"]
        found = subnets_of(self._aws, self._region, network["vpcId"], network["subnetIds"])
        chosen = private_by_zone(found)
        free = {one.subnet_id: one.free_addresses for one in found}
        return chosen, {zone: free[subnet] for zone, subnet in chosen.items()}
