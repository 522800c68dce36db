"""Settles what an earlier run had in flight when it was killed, before anything new begins.

Clusters, node groups, stacks and releases are found by name, so every stage reads for itself what became of them. Two
things have no such name: a reservation whose making nobody saw the end of, and a child process that lived on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from clusterctl.engine.effects import CANCEL, RESERVE
from clusterctl.ports import Journal, Prober

Tell = Callable[[str], None]
EndChildren = Callable[[Collection[str]], int]


@dataclass(frozen=True, slots=True)
class Settler:
    """Reads the journal of intents and leaves none of them open. Only for the holder of the cluster's lock.

    `end_children` ends the processes that the named runs have started, and says how many there were.
    """

    prober: Prober
    journal: Journal
    end_children: EndChildren

    def settle(self, tell: Tell) -> None:
        """Raises what kept it from being settled: going on would leak."""
        intents = self.journal.unsettled()
        if not intents:
            return
        runs = sorted({intent["run"] for intent in intents})
        tell(f"an earlier run ({', '.join(runs)}) did not end: {_words(intents)}")
        if ended := self.end_children(runs):
            tell(f"ended {ended} process(es) that it had started")
        for intent in intents:
            self._settle(intent, tell)
            self.journal.settle(intent)

    def _settle(self, intent: Mapping[str, str], tell: Tell) -> None:
        match intent["effect"]:
            case effect if effect == RESERVE:
                for reservation in self.prober.cancel_made(intent):
                    tell(f"cancelled reservation {reservation} in {intent['region']}, which it had made")
            case effect if effect == CANCEL:
                self.prober.cancel(intent["region"], intent["reservation_id"])
                tell(f"reservation {intent['reservation_id']} in {intent['region']} is cancelled")
            case _:
                pass  # its stage reads the world


def _words(intents: Collection[Mapping[str, str]]) -> str:
    return "; ".join(intent.get("line") or f"{intent['effect']} in {intent.get('zone', '?')}" for intent in intents)
