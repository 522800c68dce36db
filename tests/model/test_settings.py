"""Settings: who says what, who wins, and what cannot be said."""

from __future__ import annotations

from datetime import timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.errors import UsageError
from clusterctl.model.settings import KEYS, Layer, Origin, Settings, parse_duration, resolve

SAID = (Origin.FLAG, Origin.ENVIRONMENT, Origin.PLACEMENT, Origin.PROJECT)


def layer(origin: Origin, **values: object) -> Layer:
    return Layer(origin, origin.name.lower(), values)


@pytest.mark.parametrize("origins", [pair for size in (1, 2, 3, 4) for pair in combinations(SAID, size)])
def test_the_strongest_layer_wins_in_whatever_order_they_come(origins: tuple[Origin, ...]) -> None:
    layers = [layer(one, CLUSTER_NAME=f"from-{one.name.lower()}") for one in origins]
    for given_layers in (layers, layers[::-1]):
        resolved = resolve(given_layers)
        assert resolved.settings.cluster_name == f"from-{min(origins).name.lower()}"
        assert resolved.sources["CLUSTER_NAME"].origin is min(origins)


def test_defaults_hold_where_nobody_says_anything() -> None:
    resolved = resolve(())
    assert resolved.settings == Settings()
    assert not resolved.sources
    assert not resolved.explicit("REGION")


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_value_says_nothing(empty: object) -> None:
    resolved = resolve((layer(Origin.ENVIRONMENT, REGION=empty), layer(Origin.PROJECT, REGION="us-west-2")))
    assert resolved.settings.region == "us-west-2"


@pytest.mark.parametrize(
    ("origin", "explicit"),
    [(Origin.FLAG, True), (Origin.ENVIRONMENT, True), (Origin.PLACEMENT, False), (Origin.PROJECT, False)],
)
def test_only_flags_and_environment_are_said_in_this_run(origin: Origin, *, explicit: bool) -> None:
    assert resolve((layer(origin, REGION="us-west-2"),)).explicit("REGION") is explicit


@pytest.mark.parametrize(
    ("one", "several", "field", "values"),
    [
        ("REGION", "REGIONS", "search_regions", ("us-west-2", "us-east-1,us-east-2")),
        ("GPU_NODE_TYPE", "INSTANCE_TYPES", "types", ("p5.48xlarge", "g6.12xlarge,g6.24xlarge")),
    ],
)
def test_a_list_from_a_weaker_layer_does_not_hide_a_stronger_single_value(
    one: str, several: str, field: str, values: tuple[str, str]
) -> None:
    single, many = values
    strong = resolve((layer(Origin.ENVIRONMENT, **{one: single}), layer(Origin.PROJECT, **{several: many})))
    weak = resolve((layer(Origin.PROJECT, **{one: single}), layer(Origin.ENVIRONMENT, **{several: many})))
    assert getattr(strong.settings, field) == (single,)
    assert getattr(weak.settings, field) == tuple(many.split(","))


def test_values_come_as_text_and_become_what_they_mean() -> None:
    said = {
        "GPU_NODE_COUNT": "4",
        "GPU_TAINT": "true",
        "LEARNING_RATE": "2e-5",
        "INSTANCE_TYPES": " p5.48xlarge,  g6.12xlarge ",
    }
    settings = resolve((layer(Origin.ENVIRONMENT, **said),)).settings
    assert (settings.gpu_node_count, settings.gpu_taint, settings.learning_rate) == (4, True, 2e-5)
    assert settings.types == ("p5.48xlarge", "g6.12xlarge")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("GPU_NODE_COUNT", "0"), ("GPU_NODE_COUNT", "many"), ("GPU_NODE_COUNT", "1001"), ("K8S_VERSION", "latest"),
        ("K8S_VERSION", "1.4"), ("CAPACITY_RESERVATION_ID", "cr-12"), ("MAX_HOURLY_USD", "-1"), ("STEPS", "1.5"),
        ("ASSUME_YES", "perhaps"), ("LEARNING_RATE", "0"),
    ],
)  # fmt: skip
def test_a_bad_value_names_the_setting_the_value_and_where_it_comes_from(key: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"{key} cannot be '{value}'") as caught:
        resolve((Layer(Origin.PROJECT, "clusterctl.toml", {key: value}),))
    assert caught.value.hint == "it comes from clusterctl.toml"


def test_a_bad_value_in_a_weaker_layer_does_not_matter() -> None:
    resolved = resolve((layer(Origin.FLAG, STEPS=5), layer(Origin.PROJECT, STEPS="many")))
    assert resolved.settings.steps == 5


def test_an_unknown_key_is_answered_with_the_nearest_right_one() -> None:
    with pytest.raises(UsageError, match="project: unknown setting GPU_NODES_COUNT") as caught:
        resolve((layer(Origin.PROJECT, GPU_NODES_COUNT=2),))
    assert caught.value.hint == "did you mean GPU_NODE_COUNT?"


@pytest.mark.parametrize(("key", "value"), [("OPERATORS", "ray,slurn"), ("CLUSTER_NAME", "1st"), ("TTL", "soon")])
def test_what_no_stage_could_work_with_is_refused_at_once(key: str, value: str) -> None:
    with pytest.raises(UsageError):
        resolve((layer(Origin.ENVIRONMENT, **{key: value}),))


def test_a_reference_scripts_environment_works_as_it_is() -> None:
    keys = (
        "CLUSTER_NAME REGION K8S_VERSION NODE_AMI_FAMILY SYSTEM_NODE_TYPE SYSTEM_NODE_COUNT GPU_NODE_TYPE "
        "GPU_NODE_COUNT GPU_NODEGROUP_NAME GPU_AZ CAPACITY_RESERVATION_ID ASSUME_YES DLC_IMAGE KUBERAY_VERSION "
        "RAY_VERSION NVIDIA_DEVICE_PLUGIN_VERSION EFA_DEVICE_PLUGIN_VERSION NAMESPACE RAY_CLUSTER_NAME MODEL_ID STEPS "
        "SEQ_LEN BATCH_SIZE LEARNING_RATE NUM_WORKERS GPUS_PER_NODE"
    )
    assert set(keys.split()) <= set(KEYS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4h", timedelta(hours=4)), ("90m", timedelta(minutes=90)), ("1d12h", timedelta(days=1, hours=12)),
        (" 30s ", timedelta(seconds=30)), ("1d2h3m4s", timedelta(1, 4, 0, 0, 3, 2)),
    ],
)  # fmt: skip
def test_durations_are_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "4", "h", "4 h", "-4h", "4h1d", "1.5h", "4hours", "99999999999d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(0, 999), st.integers(0, 999), st.integers(1, 999))
def test_a_duration_is_the_sum_of_its_parts(days: int, hours: int, minutes: int) -> None:
    told = parse_duration(f"{days}d{hours}h{minutes}m")
    assert told == timedelta(days=days, hours=hours, minutes=minutes)
    assert parse_duration(f"{minutes}m") == timedelta(minutes=minutes)
