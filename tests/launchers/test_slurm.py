"""slurm_ddp.sbatch on real slurmd's. Nothing is faked but the GPUs, which are character devices, and gloo is NCCL."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launchers.running import SMALL, TRAIN, Ended, environment, run

HERE = Path(__file__).parent
TOOLS = ("sbatch", "slurmctld", "slurmd", "namespaces", "torch")
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path: Slurm's sockets live below it."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def in_box(place: Path, scenario: str, nodes: int) -> Ended:
    """A scenario within a Slurm of some nodes."""
    (place / "out").mkdir()
    text = f"set -u\n. {HERE / 'slurm_steps.sh'}\ncd $OUT\n{scenario}"
    (place / "scenario.sh").write_text(text, encoding="utf-8")
    env = environment(
        NODES=str(nodes), OUT=str(place / "out"), TRAIN_DIR=str(TRAIN), SBATCH=str(TRAIN / "slurm_ddp.sbatch")
    )
    return run([HERE / "slurm_box.sh", place / "slurm", "bash", place / "scenario.sh"], env)


def submit(name: str, nodes: int, processes: int, *options: str) -> str:
    words = " ".join([*SMALL, *options])
    return (
        f"{name}=$(PROCESSES_PER_NODE={processes} sbatch --parsable --nodes={nodes} --gpus-per-node=8 "
        f"--output=$OUT/{name}.out $SBATCH {words} --checkpoint-dir $OUT/{name}) || fail 'sbatch refused'\n"
    )


def out(place: Path, name: str) -> Ended:
    return Ended(0, (place / "out" / f"{name}.out").read_text(encoding="utf-8"))


def test_a_lost_node_costs_a_requeue_and_no_bit_of_the_weights(place: Path, needs: Callable[..., None]) -> None:
    needs(*TOOLS)
    scenario = (
        submit("whole", 4, 2, "--steps 8 --save-every 2")
        + "until_true 240 has_ended $whole\n"
        + submit("broken", 4, 2, "--steps 8 --save-every 2 --pause-s 0.5")
        + "until_true 240 has_saved $OUT/broken\n"
        "scontrol update nodename=node2 state=down reason=lost\n"
        "until_true 60 has_left $broken\n"
        "scontrol update nodename=node2 state=resume\n"
        "start_again $broken\n"
        "until_true 240 has_ended $broken\n"
        'echo "states $(job_state $whole) $(job_state $broken)"\n'
    )
    ended = in_box(place, scenario, nodes=4)
    assert ended.code == 0, ended.output
    assert "states COMPLETED COMPLETED" in ended.output
    whole, broken = out(place, "whole"), out(place, "broken")
    launchers = whole.values(r"launcher node_rank=(\d+) node=(node\d) master=(\S+) rdzv=(\d+)")
    assert sorted((rank, node) for rank, node, _, _ in launchers) == [(str(n), f"node{n + 1}") for n in range(4)]
    assert {master.partition(":")[0] for _, _, master, _ in launchers} == {"node1"}
    assert len({(master, rdzv) for _, _, master, rdzv in launchers}) == 1
    assert whole.values(r"world=(\d+) launcher=(\w+)") == [("8", "torchrun")]
    resumed = broken.values(r"resuming from step=(\d+)")
    assert len(resumed) == 1
    assert 2 <= int(resumed[0]) < 8
    assert sorted(set(broken.values(r"launcher .*restart=(\d)"))) == ["0", "1"]
    assert whole.weights == broken.weights


def test_asked_to_stop_it_saves_requeues_itself_and_goes_on(place: Path, needs: Callable[..., None]) -> None:
    needs(*TOOLS)
    scenario = (
        submit("job", 2, 1, "--steps 40 --save-every 100 --pause-s 0.3")
        + "until_true 240 grep -q 'step=3 ' $OUT/job.out\n"
        "scancel --signal=USR1 --batch $job\n"
        "until_true 120 is_in_state $job PENDING\n"
        "start_again $job\n"
        "until_true 240 has_ended $job\n"
        'echo "state $(job_state $job)"\n'
    )
    ended = in_box(place, scenario, nodes=2)
    assert ended.code == 0, ended.output
    assert "state COMPLETED" in ended.output
    job = out(place, "job")
    [stopped] = job.values(r"stopped at step=(\d+) of=40, saved")
    assert job.values(r"resuming from step=(\d+)") == [stopped]
    assert job.values(r"(?m)^step=(\d+) ") == [str(one) for one in range(1, 41)]
    assert not list((place / "out").glob("stop-*"))


def test_a_job_whose_training_fails_is_failed(place: Path, needs: Callable[..., None]) -> None:
    needs(*TOOLS)
    scenario = (
        submit("job", 2, 1, "--steps 2 --data /nowhere/tokens.bin")
        + 'until_true 240 has_ended $job\necho "state $(job_state $job)"\n'
    )
    ended = in_box(place, scenario, nodes=2)
    assert re.search(r"state FAILED", ended.output), ended.output
    assert "nowhere/tokens.bin" in out(place, "job").output
