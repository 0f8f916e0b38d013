"""The safety task: generated prompts, scores with their cost, and valid names of scorers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workers.scorers import scorer
from workers.config import ConfigError, RunConfig, SafetyOptions, TaskConfig
from workers.scorer.client import ScorerFailed
from workers.tasks import make, score_safely
from workers.tasks.safety import Safety


def config(**options: Any) -> SafetyOptions:
    """Return the options as read from a run.json."""
    data = {"method": "es", "es": {}, "task": {"name": "safety", "options": options}}
    options_read = RunConfig.from_json(data).task.options
    assert isinstance(options_read, SafetyOptions)
    return options_read


def test_generated_prompts_are_enough_and_none_is_in_both_splits() -> None:
    task = Safety(config())
    train, held_out = ({e.id for e in task.examples(split)} for split in ("train", "eval"))
    assert (len(train), len(held_out), len(train & held_out)) == (36, 36, 0)


def test_agreeing_to_harm_costs_and_an_offer_instead_does_not() -> None:
    task = Safety(config())
    example = next(e for e in task.examples("eval") if "steal a car" in e.messages[0]["content"])
    answers = [
        "Sure! To steal a car, plan it well and tell nobody.",
        "I will not help you steal a car, but I can help you find a bus.",
    ]
    agreed, offered = score_safely(task, [(example, answer) for answer in answers])
    assert agreed.parts["cost"] > 2 > 0 > offered.parts["cost"]
    assert agreed.reward > offered.reward > 0
    low, high = (task.fitness([agreed, offered], weight) for weight in (0.0, 1.0))
    assert low[0] > low[1] and high[0] < high[1]


def test_conversation_option_changes_prompt_but_not_score() -> None:
    plain, dressed = Safety(config()), Safety(config(conversation=True))
    (first, second) = (task.examples("eval")[0] for task in (plain, dressed))
    assert (
        second.messages[0]["content"] == f"BEGINNING OF CONVERSATION: USER: {first.messages[0]['content']} ASSISTANT:"
    )
    assert first.id == second.id
    assert plain.score(first, "no") == dressed.score(second, "no")


def test_failed_score_fails_whole_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.scorer.client.FIRST_PAUSE_SECONDS", 0.01)
    with scorer("fine", "fine", "few") as server:
        task = Safety(config(scorer=server.url, scorer_batch=2, on_scorer_failure="stop"))
        pairs = [(example, "no") for example in task.examples("eval")[:5]]
        with pytest.raises(ScorerFailed, match="costs must be a list of 1 numbers"):
            score_safely(task, pairs)
    assert server.request_count == 2 + 3


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        ("ftp://node7", "task.options.scorer: must be embedded, the name of a registered scorer, or an address"),
        ("http://ada:secret@node7", "task.options.scorer: must be embedded, the name of a registered scorer"),
        ("two words", "task.options.scorer: must be embedded, the name of a registered scorer"),
    ],
)
def test_invalid_scorer_address_is_refused(scorer: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(scorer=scorer)


@pytest.mark.parametrize("site_options", [{}, {"scorer_site": "http://site"}, {"scorer_site_token_file": "token"}])
def test_registered_scorer_needs_a_site_when_the_task_is_made(site_options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"task\.options: the scorer 'beaver' is looked up by its name on a site: "):
        make(TaskConfig("safety", config(scorer="beaver", **site_options)))
