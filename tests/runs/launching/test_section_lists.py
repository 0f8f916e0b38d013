"""Lists of sections, such as prior tasks, as pages show them."""

from __future__ import annotations

from typing import Any

from runs.launching.config_form import SETTINGS, config_from_fields, initial_from, short_text
from tests.cases import each_case
from workers.config import RunConfig

PRIOR_TASKS = SETTINGS["evaluate.prior_tasks"]


def stored(tasks: Any) -> list[dict[str, Any]]:
    """Return these prior tasks as a run's config has them, with all defaults."""
    config = RunConfig.from_json({"method": "evaluate", "evaluate": {"prior_tasks": tasks}}).to_json()
    return list(config["evaluate"]["prior_tasks"])


@each_case(
    ("tasks", "text"),
    [
        ([{"name": "countdown"}], "countdown"),
        (
            [{"name": "countdown"}, {"name": "math", "options": {"eval_file": "math500.jsonl"}}],
            "countdown, math (eval_file=math500.jsonl)",
        ),
        (
            [{"name": "choice", "options": {"instruction": ""}, "prefill": "é", "reward_seconds": 2.5}],
            'choice (instruction="", prefill=é, reward_seconds=2.5)',
        ),
    ],
)
def test_text_has_names_and_what_differs_from_defaults(tasks: list[dict[str, Any]], text: str) -> None:
    assert short_text(PRIOR_TASKS, tasks) == text
    assert short_text(PRIOR_TASKS, stored(tasks)) == text


def test_key_that_this_version_does_not_know_is_shown() -> None:
    assert short_text(PRIOR_TASKS, [{"name": "math", "options": {"digits": 3}}]) == "math (digits=3)"


@each_case("value", [[], None, "countdown", [1], [{"options": {}}]])
def test_other_values_have_no_short_text(value: Any) -> None:
    assert short_text(PRIOR_TASKS, value) is None


def test_settings_of_other_kinds_have_no_short_text() -> None:
    assert short_text(SETTINGS["task.own.options"], {"name": "math"}) is None


def test_form_shows_prior_tasks_without_defaults_and_makes_the_same_config() -> None:
    tasks = [{"name": "countdown"}, {"name": "math", "options": {"eval_file": "math500.jsonl"}}]
    config = {"method": "evaluate", "evaluate": {"prior_tasks": stored(tasks)}}
    shown = initial_from(config)["evaluate.prior_tasks"]
    assert shown == '[{"name": "countdown"}, {"name": "math", "options": {"eval_file": "math500.jsonl"}}]'
    made = config_from_fields({"method": "evaluate", "evaluate.prior_tasks": tasks})
    assert stored(made["evaluate"]["prior_tasks"]) == stored(tasks)
