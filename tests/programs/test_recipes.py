"""What the programs for BioNeMo say to the recipe they start. The recipe is a stand-in that records it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TRAIN = Path(__file__).resolve().parent.parent.parent / "scripts" / "train"
RECORDER = """
import json, os, sys
from checkpoint import here
print(json.dumps({"argv": sys.argv[1:], "cwd": os.getcwd(), "rank": os.environ["RANK"], "here": here}))
"""


def run_esm2(recipe: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(TRAIN / "esm2.py"), "--recipe", str(recipe), *options]
    env = {**os.environ, "RANK": "0", "WORLD_SIZE": "16"}
    return subprocess.run(words, env=env, check=False, text=True, capture_output=True)


def recipe_in(folder: Path) -> Path:
    (folder / "hydra_config").mkdir(parents=True)
    (folder / "checkpoint.py").write_text("here = True\n")
    (folder / "dataset.py").touch()
    (folder / "train_ddp.py").write_text(RECORDER)
    return folder


def test_the_recipe_runs_in_its_folder_with_the_sizes_that_were_asked_for(tmp_path: Path) -> None:
    recipe = recipe_in(tmp_path / "recipe")
    ended = run_esm2(recipe, "--steps", "30", "--batch-size", "3", "--checkpoint-dir", "/fsx/run")
    assert ended.returncode == 0, ended.stderr
    told, last = ended.stdout.strip().splitlines()
    heard = json.loads(told)
    assert (heard["cwd"], heard["rank"], heard["here"]) == (str(recipe), "0", True)
    expected = {
        "num_train_steps=30", "dataset.micro_batch_size=3", "lr_scheduler_kwargs.num_training_steps=30",
        "checkpoint.ckpt_dir=/fsx/run", "checkpoint.resume_from_checkpoint=true",
    }  # fmt: skip
    assert expected <= set(heard["argv"])
    assert last == "training finished: steps=30 world=16"


def test_another_folder_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    ended = run_esm2(tmp_path)
    assert ended.returncode == 1
    assert "is not the recipe esm2_native_te: it has no train_ddp.py, hydra_config" in ended.stderr
    assert "finished" not in ended.stdout
