"""compute.gpus: a whole number of GPUs, a fraction of one that runs share, or auto."""

from __future__ import annotations

from typing import Any

import pytest

from runs.launching.config_form.fields import SETTINGS, format_value, parse_value
from tests.cases import each_case
from workers.config import ConfigError, RunConfig


def config_with(gpus: Any, **compute: Any) -> RunConfig:
    return RunConfig.from_json({"method": "es", "es": {}, "compute": {"gpus": gpus, **compute}})


@each_case(
    "gpus, devices, share, total",
    [(0, 0, 1, 0), (2, 2, 1, 2), (0.25, 1, 0.25, 0.25), (0.002, 1, 0.002, 0.002), ("auto", 1, None, 1)],
)
def test_compute_gpus_state_devices_and_share(gpus: Any, devices: int, share: float | None, total: float) -> None:
    compute = config_with(gpus).compute
    assert (compute.devices, compute.gpu_share, compute.all_gpus) == (devices, share, total)
    assert compute.shares_gpu == (gpus not in (0, 2))


def test_whole_gpus_stay_whole_numbers_in_json() -> None:
    written = config_with(2.0).to_json()["compute"]["gpus"]
    assert (written, type(written)) == (2, int)


@each_case("gpus", [1.5, 0.0001, -1, 1025, True, "1", "half", None, float("nan"), [1]])
def test_other_gpus_are_refused_with_the_valid_choices(gpus: Any) -> None:
    with pytest.raises(ConfigError) as error:
        config_with(gpus)
    (problem,) = error.value.problems
    assert problem.path == "compute.gpus"
    assert problem.message.startswith("must be a whole number from 0 to 1024, a fraction such as 0.25")


def test_shared_gpu_needs_one_node() -> None:
    with pytest.raises(ConfigError, match=r"compute.nodes: must be 1, not 2: a run that shares a GPU is on one node"):
        config_with("auto", nodes=2)


@each_case(
    "config",
    [
        {"method": "es", "es": {"backend": "vllm", "noise": "full"}},
        {"method": "grpo", "grpo": {"vllm": {}}},
    ],
    ids=lambda config: config["method"],
)
def test_vllm_shares_no_gpu(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"compute.gpus: must be a whole number, not 0.5: vLLM reserves a GPU alone"):
        RunConfig.from_json(config | {"compute": {"gpus": 0.5}})


@each_case("text, value", [("0.25", 0.25), ("2", 2), ("auto", "auto"), ("many", "many")])
def test_gpus_field_reads_what_it_shows(text: str, value: Any) -> None:
    setting = SETTINGS["compute.gpus"]
    parsed = parse_value(setting, f" {text} ")
    assert (parsed, type(parsed)) == (value, type(value))
    assert str(format_value(setting, parsed)) == text
