"""What the user is ready to pay an hour, and the places that cost more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clusterctl.model.capacity import Candidate, Verdict
from clusterctl.model.cost import Cost, cluster_cost, refuse_too_dear

Prices = Mapping[str, Mapping[str, float]]  # region -> instance type -> USD an hour


@dataclass(frozen=True, slots=True)
class Budget:
    """USD an hour at most for the whole cluster, None for no limit; `system` is the type and number of system nodes."""

    hourly_usd: float | None = None
    system: tuple[str, int] = ("", 0)

    def hold(self, candidates: Sequence[Candidate], prices: Prices) -> tuple[Candidate, ...]:
        """The places, those that are too dear marked and last. Raises UsageError if no other is left.

        A place whose price nobody knows is too dear: nobody could say that it is not.
        """
        usable = [one for one in candidates if one.usable]
        costs = {id(one): self._cost(one, prices) for one in usable}
        dear = [one for one in usable if not self._allows(costs[id(one)])]
        if not dear:
            return tuple(candidates)
        if len(dear) == len(usable):
            cheapest = min(costs.values(), key=lambda cost: cost.hourly_usd or float("inf"))
            refuse_too_dear(cheapest, self.hourly_usd)
        marked = [replace(one, verdict=Verdict.SKIPPED, reason=self._reason(costs[id(one)])) for one in dear]
        rest = [one for one in candidates if id(one) in costs and one not in dear]
        ordered = (*rest, *marked, *(one for one in candidates if not one.usable))
        return tuple(replace(one, rank=number) for number, one in enumerate(ordered, start=1))

    def _cost(self, place: Candidate, prices: Prices) -> Cost:
        return cluster_cost((place.instance_type, place.nodes), self.system, prices.get(place.region, {}))

    def _allows(self, cost: Cost) -> bool:
        limit, hourly = self.hourly_usd, cost.hourly_usd
        return limit is None or (hourly is not None and hourly <= limit)

    def _reason(self, cost: Cost) -> str:
        if cost.hourly_usd is None:
            return "its price is unknown, and there is a limit"
        return f"{cost.hourly_usd:.2f} USD an hour in all is more than {self.hourly_usd:g}"
