"""The names of all side effects, as the journal writes them and as the sandbox's faults name them."""

from __future__ import annotations

from typing import get_args

from clusterctl.engine.actions import Action

RESERVE = "CreateCapacityReservation"
CANCEL = "CancelCapacityReservation"
REMOVALS = ("DeleteCluster", "DeleteNodegroup", "RemoveResource")
EFFECTS = (*(kind.__name__ for kind in get_args(Action)), RESERVE, CANCEL)
