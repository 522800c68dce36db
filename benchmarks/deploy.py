"""`deploy-all` against the longest path through its stages: what can run at once does, and nothing waits between."""

from __future__ import annotations

import sys

from measuring import Table, sandbox

SPEED = 100  # at the default of 600, the start of Python counts as minutes of AWS
PATHS = (
    ("probe", "cluster", "nodegroup", "plugins", "verify"),
    ("probe", "cluster", "kuberay", "verify"),
)
MOST_RATIO = 1.1


def main() -> int:
    with sandbox(f"speed: {SPEED}\n") as world:
        world.clusterctl("deploy-all", "--plan").succeeded()  # writes the bytecode
        start = world.record.clock.timestamp()
        run = world.clusterctl("deploy-all", "--yes", "-o", "json")
        wall = world.record.clock.timestamp() - start
    stages = {stage["name"]: stage["seconds"] for stage in run.document()["stages"]}
    longest = max(sum(stages.get(name, 0.0) for name in path) for path in PATHS)
    table = Table(f"deploy-all in the sandbox, simulated seconds at speed {SPEED}")
    for name, seconds in stages.items():
        table.say(f"stage {name}", f"{seconds:.0f} s")
    table.say("one after the other", f"{sum(stages.values()):.0f} s")
    table.say("longest path", f"{longest:.0f} s")
    table.say("deploy-all", f"{wall:.0f} s")
    table.at_most("against the longest path", wall / longest, MOST_RATIO)
    return table.end()


if __name__ == "__main__":
    sys.exit(main())
