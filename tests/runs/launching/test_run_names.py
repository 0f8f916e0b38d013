"""Default names of runs and sweeps state what differs from the preset."""

from __future__ import annotations

from typing import Any

from runs.launching.run_names import (
    NAME_LENGTH,
    RUN_SETTINGS,
    default_run_name,
    default_sweep_name,
    sweep_run_name,
)
from tests.cases import each_case
from workers.config import RunConfig, preset, presets


def config(preset_name: str, seed: int = 0, **sections: dict[str, Any]) -> RunConfig:
    """Return a preset's config with changed values, by section."""
    base = preset(preset_name).config
    merged = {**base, **{name: {**base.get(name, {}), **values} for name, values in sections.items()}}
    return RunConfig.from_json({**merged, "seed": seed})


@each_case("name", list(presets()))
def test_unchanged_preset_and_its_seed(name: str) -> None:
    assert default_run_name(config(name, 3), name) == f"{name} seed 3"


@each_case(
    ("sections", "name"),
    [
        ({"es": {"sigma": 0.02}}, "es-tiny σ=0.02 seed 0"),
        ({"es": {"sigma": 0.02, "alpha": 0.005}}, "es-tiny σ=0.02, α=0.005 seed 0"),
        ({"compute": {"cores": 2}, "es": {"antithetic": True}}, "es-tiny antithetic=true, cores=2 seed 0"),
        ({"evaluation": {"seed": 7}}, "es-tiny evaluation.seed=7 seed 0"),
        ({"es": {"lora": {"rank": 4}}}, "es-tiny lora=true, lora.rank=4 seed 0"),
        ({"model": {"path": "micro"}, "task": {"name": "countdown"}}, "es-tiny model=micro, task=countdown seed 0"),
    ],
)
def test_changes_are_stated(sections: dict[str, Any], name: str) -> None:
    assert default_run_name(config("es-tiny", **sections), "es-tiny") == name


def test_many_changes_are_counted() -> None:
    changed = config(
        "es-tiny", es={"sigma": 0.02, "alpha": 0.03, "rank": 2, "prompts": 4, "iterations": 9}, compute={"cores": 2}
    )
    assert default_run_name(changed, "es-tiny") == "es-tiny iterations=9, σ=0.02, α=0.03 +3 seed 0"


def test_config_without_a_preset_is_compared_with_the_defaults() -> None:
    assert default_run_name(RunConfig.from_json({"method": "grpo", "grpo": {"beta": 0.1}}), "") == "grpo β=0.1 seed 0"


def test_another_method_than_the_presets_is_stated() -> None:
    changed = RunConfig.from_json({**preset("es-countdown-paper").config, "es": None, "method": "grpo", "grpo": {}})
    assert default_run_name(changed, "es-countdown-paper") == "es-countdown-paper method=grpo seed 0"


def test_long_values_keep_their_end_and_names_fit() -> None:
    folder = "/models/" + "very/" * 60
    one, other = (config("es-tiny", model={"path": f"{folder}{n}"}) for n in (1, 2))
    assert default_run_name(one, "es-tiny").endswith("very/1 seed 0")
    assert default_run_name(one, "es-tiny") != default_run_name(other, "es-tiny")
    assert len(default_run_name(one, "es-tiny")) <= NAME_LENGTH


def test_sweep_omits_what_it_varies() -> None:
    base = config("es-tiny", es={"sigma": 0.02, "iterations": 5})
    assert default_sweep_name(base, "es-tiny", frozenset({"es.sigma"})) == "es-tiny iterations=5 sweep"


def test_run_of_a_sweep_begins_with_its_values() -> None:
    assert sweep_run_name({"es.sigma": 0.02, "es.alpha": 0.01}, 1, "wide") == "σ=0.02, α=0.01 seed 1 · wide"
    assert sweep_run_name({"es.rank": 2, "es.lora.rank": 4}, 0, "wide") == "rank=2, lora.rank=4 seed 0 · wide"


def test_long_sweep_name_is_cut_after_the_values() -> None:
    name = sweep_run_name({"es.sigma": 0.02}, 12, "w" * NAME_LENGTH)
    assert name.startswith("σ=0.02 seed 12 · www") and len(name) == NAME_LENGTH


def test_no_name_states_the_uids_of_runs() -> None:
    named = RunConfig.from_json({"method": "probe", "probe": {"runs": ["run:abcdefghjk"], "draws": 3}})
    assert {"evaluate.run", "probe.runs"} == RUN_SETTINGS
    assert default_sweep_name(named, "", frozenset()) == "probe draws=3 sweep"
