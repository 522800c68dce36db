"""Each rule finds its mistake and leaves the good counterpart alone. Nothing is faked: the files are the cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterctl.model.lint.hardware import HARDWARE
from clusterctl.model.lint.linting import UNREADABLE, lint
from clusterctl.model.lint.rules import RULES

HERE = Path(__file__).parent
BAD = sorted((HERE / "bad").iterdir())
GOOD = sorted((HERE / "good").iterdir())
POD = "kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: a\n"
CONFIG_MAP = "kind: ConfigMap\napiVersion: v1\ndata:\n"
IDS = {rule.rule_id for rule in RULES}


def found(path: str, text: str) -> list[str]:
    return [one.rule_id for one in lint(path, text).findings]


def found_in(file: Path) -> list[str]:
    return found(file.name, file.read_text(encoding="utf-8"))


def rule_of(file: Path) -> str:
    return next(rule_id for rule_id in sorted(IDS, key=len, reverse=True) if file.name.startswith(rule_id))


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.name)
def test_a_bad_file_breaks_its_rule_and_no_other(file: Path) -> None:
    assert found_in(file) == [rule_of(file)]


@pytest.mark.parametrize("file", GOOD, ids=lambda file: file.name)
def test_the_good_counterpart_breaks_none(file: Path) -> None:
    assert found_in(file) == []


def test_every_rule_has_a_bad_file_and_a_good_one() -> None:
    assert {rule_of(file) for file in BAD} == {rule_of(file) for file in GOOD} == IDS
    assert [file.name for file in BAD] == [file.name for file in GOOD]


def test_ids_are_unique_and_every_rule_says_why_and_what_to_do() -> None:
    assert len(IDS) == len(RULES)
    assert all(rule.reason and rule.fix for rule in RULES)
    assert all(rule.manifest or rule.values or rule.script or rule.code for rule in RULES)


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.sbatch", "#!/bin/bash\n#SBATCH -N 2\n\nsrun bash -c '\n  MASTER_ADDR=$(hostname)\n'\n", 5),
        ("a.yaml", f"{POD}    args:\n    - sh\n    - -c\n    - |\n      true\n      export NCCL_PROTO=LL\n", 11),
        ("a.yaml", f"{POD}---\n{CONFIG_MAP}  run.sh: |\n    true\n    NCCL_ALGO=Tree torchrun x.py\n", 12),
        ("a.py", "import os\n\nos.environ.setdefault('NCCL_ALGO', 'Ring')\n", 3),
    ],
)  # fmt: skip
def test_a_finding_stands_on_the_line_of_its_mistake(path: str, text: str, line: int) -> None:
    assert [one.line for one in lint(path, text).findings] == [line]


@pytest.mark.parametrize(
    "comment", ["# lint: allow nccl-forced-choice", "# measured; lint: allow x, nccl-forced-choice"]
)
def test_a_finding_can_be_allowed_where_it_stands(comment: str) -> None:
    bad = "export NCCL_ALGO=Ring\n"
    assert found("a.sh", bad) == ["nccl-forced-choice"]
    assert found("a.sh", f"export NCCL_ALGO=Ring  {comment}\n") == []
    assert found("a.sh", f"{comment}\n{bad}") == []
    assert found("a.sh", f"true {comment}\n{bad}") == ["nccl-forced-choice"]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.yaml", "a: 1\nb: [1\nc: 2\n", 3),
        ("a.yaml", "a: &a [x]\nb: *c\n", 2),
        ("a.py", "def f(:\n", 1),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_finding_and_no_crash(path: str, text: str, line: int) -> None:
    [one] = lint(path, text).findings
    assert (one.rule_id, one.line) == (UNREADABLE.rule_id, line)


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    [one] = lint("a.yaml", "\n".join(["a0: &a0 [x]", *levels])).findings
    assert one.rule_id == UNREADABLE.rule_id


def test_a_template_is_said_to_be_skipped() -> None:
    result = lint("templates/pod.yaml", "{{- if .Values.x }}\nkind: Pod\n{{- end }}\n")
    assert result.findings == ()
    assert "template" in result.skipped


@pytest.mark.parametrize(
    "text",
    [
        "", "#!/bin/bash\n", "'", '"', "$(", "`", "cat <<EOF", "srun", "srun bash -c", "torchrun", "mpirun -np",
        "a\\", "#SBATCH --nodes", "#SBATCH", "x=$((1+2", "bash -c 'bash -c \"bash -c true\"'",
    ],
)  # fmt: skip
def test_half_a_script_is_read_without_a_crash(text: str) -> None:
    assert found("a.sh", text) == []


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "- a", "kind: Job", "kind: Job\napiVersion: batch/v1\nspec: null",
        "kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nspec: {tasks: [null, 3]}",
        "kind: MPIJob\napiVersion: kubeflow.org/v2beta1\nspec: {mpiReplicaSpecs: [1]}",
        "kind: RayCluster\napiVersion: ray.io/v1\nspec: {workerGroupSpecs: x, headGroupSpec: 1}",
        "kind: Pod\napiVersion: v1\nspec: {containers: [{command: 3, args: {a: b}, env: x, resources: 1}]}",
        "kind: [1]\napiVersion: 3", "1: 2\n? [a]\n: b", "!Ref x", "a: !!binary aGk=", "2024-01-01: 1",
        "loginsets: 3", "loginsets: {a: {enabled: true, service: 1, x: null}}\n# lint: allow login-public",
        "kind: NodePool\napiVersion: karpenter.sh/v1\nspec: {template: {spec: {requirements: [{values: 3}, 1]}}}",
    ],
)  # fmt: skip
def test_manifests_of_odd_shape_are_read_without_a_crash(text: str) -> None:
    assert set(found("a.yaml", text)) <= {"login-public", "unreadable"}


def test_what_types_have_is_what_ec2_says() -> None:
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    for name, has in HARDWARE.items():
        entry = INSTANCE_TYPES[name]
        devices = entry.get("NeuronInfo", {}).get("NeuronDevices", [])
        assert has.gpus == sum(one["Count"] for one in entry.get("GpuInfo", {}).get("Gpus", [])), name
        assert has.efa == entry["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 0), name
        assert has.neuron == sum(one["Count"] for one in devices), name
        assert has.neuron_cores == sum(one["Count"] * one["CoreInfo"]["Count"] for one in devices), name


@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH --nodes=2\n#SBATCH --ntasks=16\nexec mpirun --mca btl tcp,self --bind-to none x -n 100 -c 1\n",
        "#SBATCH --nodes=2\n#SBATCH --ntasks=16\nexec mpirun --allow-run-as-root -np 16 -x A=b all_reduce_perf -n 4\n",
        "#SBATCH --nodes=2\nexport TORCHRUN=./venv/bin/torchrun\nexec srun train.sh\n",
        "#SBATCH --nodes=2\nsrun train.sh &\nwait $!\n",
        "#SBATCH -N2 -n 2\nexec srun torchrun --nnodes 2 --nproc_per_node gpu train.py --nnodes 3\n",
        "#SBATCH --nodes=4\nexec srun --nodes=1 --ntasks=1 torchrun --standalone --nproc-per-node=8 evaluate.py\n",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_mistake_is_left_alone(text: str) -> None:
    assert found("a.sbatch", f"#!/bin/bash\n{text}") == []
