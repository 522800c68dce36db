"""Asks every region in question what it has, all at once; what a region will not say is kept as a problem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from clusterctl.adapters.aws import offerings
from clusterctl.adapters.aws.answer_cache import AnswerCache
from clusterctl.adapters.aws.fanout import side_by_side
from clusterctl.adapters.aws.faults import translated
from clusterctl.adapters.aws.prices import PRICE_REGION, TABLE_DATE, PriceAnswer, PriceList, from_table
from clusterctl.adapters.aws.regional import RegionSurvey, unanswered
from clusterctl.adapters.aws.regions import Regions
from clusterctl.adapters.aws.scores import Scores, SpotScores
from clusterctl.adapters.aws.session import AwsSession
from clusterctl.model.capacity import Question, RegionFacts
from clusterctl.model.failures import Failure
from clusterctl.model.instances import InstanceType
from clusterctl.ports import Clock

LIMIT_S = 45.0  # for the whole sweep, in real seconds
_SCORES, _PRICES = "spot scores", "prices"


class AwsSurvey:
    """The CapacitySurvey port. `cache_folder` keeps scores for 10 minutes and prices for a day; None keeps nothing."""

    def __init__(
        self,
        aws: AwsSession,
        clock: Clock,
        account_id: str,
        cache_folder: Path | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        cache = AnswerCache(cache_folder / account_id if cache_folder else None, clock)
        self._aws = aws
        self._account_id = account_id
        self._limit_s = limit_s
        self._regions = Regions(aws)
        self._scores = SpotScores(aws, cache)
        self._prices = PriceList(aws, cache)

    def enabled_regions(self) -> tuple[str, ...]:
        return self._regions.enabled()

    def instance_type(self, region: str, name: str) -> InstanceType | None:
        with translated(f"look for {name} in {region}"):
            return offerings.instance_types(self._aws.client("ec2", region), [name]).get(name)

    def prices(self, region: str, names: Collection[str]) -> dict[str, float]:
        """USD an hour, On-Demand; what nobody sells On-Demand is missing."""
        return self._prices.ask(names).of(region, names)

    def priced(self, region: str, names: Collection[str], today: date) -> tuple[dict[str, float], str]:
        """Prices, and in words whose they are and of what day; AWS's answers are kept for a day at most."""
        answer = self._prices.ask(names)
        table = f"list prices of {PRICE_REGION} on {TABLE_DATE}"
        return answer.of(region, names), table if answer.problem else f"AWS price list, {today.isoformat()}"

    def similar_types(self, region: str, name: str) -> tuple[str, ...]:
        """Types of the region whose names look most like this one, at most five."""
        import difflib

        with translated(f"list instance types in {region}"):
            known = offerings.all_offered(self._aws.client("ec2", region))
        return tuple(difflib.get_close_matches(name, known, n=5, cutoff=0.6))

    def ask(self, question: Question) -> tuple[RegionFacts, ...]:
        """Raises UsageError for a region that is misspelt or not enabled, AccessError for credentials."""
        self._regions.check(question.regions)
        surveys = {region: RegionSurvey(self._aws, question, region, self._account_id) for region in question.regions}
        work: dict[str, Callable[[], Any]] = {
            region: partial(survey.run, self._limit_s) for region, survey in surveys.items()
        }
        work[_SCORES] = lambda: self._ask_scores(question)
        work[_PRICES] = lambda: self._prices.ask((*question.instance_types, *question.priced))
        answers = side_by_side(work, lambda key: work[key](), limit_s=self._limit_s)
        late = unanswered(self._limit_s)
        scores: tuple[Scores, Failure | None] = answers.get(_SCORES, ({}, late))
        prices: PriceAnswer = answers.get(_PRICES, PriceAnswer(problem=from_table(late)))
        return tuple(
            survey.facts(scores, prices, late=None if region in answers else late) for region, survey in surveys.items()
        )

    def _ask_scores(self, question: Question) -> tuple[Scores, Failure | None]:
        regions: Sequence[str] = question.regions
        enabled = self._regions.enabled() if len(regions) > 1 else ()
        return self._scores.ask(question.instance_types, question.nodes, regions, enabled)
