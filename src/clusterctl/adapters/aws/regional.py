"""The survey of one region: part by part, so that what was answered counts even if the rest is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusterctl.adapters.aws import offerings, quotas
from clusterctl.adapters.aws.fanout import side_by_side
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
USING = ("reservations", "running", "idle")  # what together says how much of a quota is used


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

    def run(self, limit_s: float) -> None:
        """Ask for every part, those at once that need no other. Where nothing is offered, the rest does not matter."""
        ec2 = self._aws.client("ec2", self._region)
        names = self._question.instance_types
        first: dict[str, Callable[[], Any]] = {
            "zones": lambda: offerings.zones(ec2),
            "offerings": lambda: offerings.offered(ec2, names),
            "types": lambda: offerings.instance_types(ec2, names),
        }
        self._parts(first, limit_s)
        if not self._answers.get("offerings") and "offerings" not in self._problems:
            return
        second: dict[str, Callable[[], Any]] = {
            "reservations": lambda: list_alive(ec2, self._region),
            "running": lambda: quotas.running_vcpus(ec2),
            "limits": self._limits,
        }
        if self._question.cluster:
            second["subnets"] = self._subnets
        self._parts(second, limit_s)
        self._part("idle", lambda: quotas.idle_vcpus(ec2, self._answers.get("reservations", ()), self._account_id))
        self._part("quotas", self._quotas)

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

    def _parts(self, parts: Mapping[str, Callable[[], Any]], limit_s: float) -> None:
        side_by_side(parts, lambda name: self._part(name, parts[name]), limit_s=limit_s)

    def _part(self, name: str, ask: Callable[[], Any]) -> None:
        try:
            self._answers[name] = ask()
        except AWS_FAULTS as fault:
            self._problems[name] = failure_of(fault)

    def _limits(self) -> Any:
        offered = {name for name, _ in self._answers.get("offerings", ())}
        names = [name for name in self._question.instance_types if name in offered or not offered]
        codes = dict.fromkeys(quota_code(name) for name in names)
        client = self._aws.client("service-quotas", self._region)
        return {code: quotas.quota_limit(client, code) for code in codes}

    def _quotas(self) -> Any:
        """Limits against the vCPUs that count: what runs, and what reservations hold unused."""
        missing = [self._problems[part] for part in USING if part in self._problems]
        problem = f"what runs is unknown, {missing[0].cause.value}: {missing[0].message}" if missing else ""
        used = None if missing else quotas.added(self._answers["running"], self._answers["idle"])
        return quotas.quotas(self._answers["limits"], used, problem)

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
