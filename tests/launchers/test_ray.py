"""ray_fsdp.py on a real Ray of CPU workers, submitted as a job. Nothing is faked; gloo is NCCL here."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launchers.running import TRAIN, Ended, environment, run

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(600)
JOB = (
    "ray job submit --working-dir $CODE -- python ray_fsdp.py --cpu --num-workers 2 --model-id tiny --seq-len 16 "
    "--samples 23 --batch-size 2 --accumulate 2 --steps 8 --save-every 2 --checkpoint-dir $OUT/kept"
)
SCENARIO = f"""
set -u
cd $OUT
{JOB} --run-name whole >whole.out 2>&1 || {{ tail -40 whole.out; exit 1; }}
{JOB} --run-name broken --pause-s 1 >broken.out 2>&1 &
job=$!
for _ in $(seq 600); do
  worker=$(grep -oE 'worker rank=1 world=2 pid=[0-9]+' broken.out | grep -oE '[0-9]+$' | tail -1)
  [ -n "$worker" ] && [ -d kept/broken ] && ls kept/broken | grep -q step-00000004 && break
  sleep 0.2
done
kill -9 "$worker" && echo "killed $worker"
wait $job
echo "job ended with $?"
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path: Ray's sockets live below it."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def ended(place: Path, needs: Callable[..., None]) -> tuple[Ended, Ended, Ended]:
    """The scenario, and what the two jobs printed."""
    needs("ray", "torch", "namespaces")
    (place / "out").mkdir()
    code = shutil.copytree(TRAIN, place / "code", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "scenario.sh").write_text(SCENARIO, encoding="utf-8")
    env = environment(OUT=str(place / "out"), CODE=str(code), RAY_DEDUP_LOGS="0")
    box = run([HERE / "ray_box.sh", place, "bash", place / "scenario.sh"], env)
    files = [place / "out" / f"{name}.out" for name in ("whole", "broken")]
    texts = [one.read_text(encoding="utf-8") if one.exists() else "" for one in files]
    return box, Ended(box.code, texts[0]), Ended(box.code, texts[1])


def test_a_worker_that_is_killed_costs_the_steps_since_its_checkpoint(ended: tuple[Ended, Ended, Ended]) -> None:
    box, whole, broken = ended
    assert "job ended with 0" in box.output, box.output + broken.output[-4000:]
    assert re.search(r"killed \d+", box.output)
    assert set(whole.values(r"worker rank=(\d) world=2")) == {"0", "1"}
    assert "resuming" not in whole.output
    resumed = set(broken.values(r"resuming from step=(\d+)"))
    assert len(resumed) == 1
    assert 2 <= int(resumed.pop()) < 8
    finished = r"training finished: steps=8 world=2 loss=(\S+)"
    assert len(set(whole.values(finished))) == 1
    assert set(whole.values(finished)) == set(broken.values(finished))
