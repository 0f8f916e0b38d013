"""Form, command line and documentation are generated from the settings: each must have help and bounds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from workers.config import Bounds, ConfigError, ConfigField, RunConfig, config_fields
from workers.config.fields import Divisible

NUMBERS = [knob for knob in config_fields(RunConfig) if knob.kind in (int, float)]


def test_every_knob_has_help_that_ends_like_a_sentence() -> None:
    silent = [k.path for k in config_fields(RunConfig) if not k.help.endswith((".", "§4)."))]
    assert silent == []


def test_bounds_and_choices_are_read_from_the_types() -> None:
    by_path = {k.path: k for k in config_fields(RunConfig)}
    assert by_path["es.noise"].choices == ("full", "low_rank", "correlated")
    assert str(by_path["grpo.top_p"].bounds) == "above 0 and at most 1"
    assert by_path["method"].required


def test_sections_are_walked_in_the_order_of_the_source() -> None:
    paths = [k.path for k in config_fields(RunConfig)]
    assert (
        paths.index("method")
        < paths.index("task.options.train_file")
        < paths.index("es.lora.rank")
        < paths.index("grpo.beta")
    )


def test_every_number_has_a_lower_and_an_upper_bound() -> None:
    """Without one, 10**18 iterations are a config: lists of its steps would fill the memory."""
    unbounded = [
        knob.path
        for knob in NUMBERS
        if not isinstance(knob.bounds, Divisible)
        and (
            not isinstance(knob.bounds, Bounds)
            or knob.bounds.at_most is None
            or (knob.bounds.at_least is None and knob.bounds.above is None)
        )
    ]
    assert unbounded == []


@each_case("value", [10**18, -(10**18), 10**400, -(10**400), float("inf"), float("nan")])
@each_case("knob", NUMBERS, ids=lambda knob: f"{knob.path}-{knob.tag}")
def test_number_beyond_its_bounds_is_refused_with_its_path(knob: ConfigField, value: float) -> None:
    with pytest.raises(ConfigError) as error:
        RunConfig.from_json(config_with(knob, value))
    messages = {problem.path: problem.message for problem in error.value.problems}
    assert knob.path in messages
    if abs(value) == 10**18:
        assert str(knob.bounds) in messages[knob.path]


@each_case("knob", NUMBERS, ids=lambda knob: f"{knob.path}-{knob.tag}")
def test_number_at_its_upper_bound_is_accepted(knob: ConfigField) -> None:
    assert isinstance(knob.bounds, Bounds | Divisible) and knob.bounds.at_most is not None
    try:
        RunConfig.from_json(config_with(knob, knob.kind(knob.bounds.at_most)))
    except ConfigError as error:
        assert all("at most" not in problem.message for problem in error.problems), error


def config_with(knob: ConfigField, value: object) -> dict[str, Any]:
    """Return a config in which this knob has this value, and the sections that it needs."""
    method = knob.path.partition(".")[0] if knob.path.startswith(("es.", "grpo.", "scorer.")) else "es"
    config: dict[str, Any] = {"method": method, method: {}}
    if knob.tag:
        config["task"] = {"name": knob.tag}
    section, *path = config, *knob.path.split(".")
    for name in path[:-1]:
        section = section.setdefault(name, {})
    section[path[-1]] = value
    return config
