"""Method evaluate on a model: what it records, from the default config on, and what it refuses."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from tests.workers.probes.evaluations import config_of, evaluate_in, responses_of, values_of
from tests.workers.training_process import train
from workers.analysis.pass_at_k import pass_all_k, pass_at_k
from workers.analysis.self_bleu import self_bleu
from workers.config import ConfigError
from workers.engines.stop import Interrupted, Stop


def test_default_config_runs(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"method": "evaluate", "model": {"path": "micro"}}))

    ended = train(tmp_path / "run.json", tmp_path / "out", is_fork=True)

    assert ended.returncode == 0, ended.stderr
    values = values_of(tmp_path / "out")[0]
    assert {"pass@1", "pass@2", "pass@4", "pass^4", "accuracy/greedy", "entropy", "text/self_bleu"} <= values.keys()
    assert (values["evaluate/prompts"], values["evaluate/samples"]) == (32, 4)
    assert not [name for name in values if name.split("/")[0] == "kl"], "there is nothing to measure a KL against"


def test_passes_and_texts_are_those_of_the_recorded_responses(tmp_path: Path) -> None:
    plan = {"prompts": 6, "samples": 8, "max_new_tokens": 20}
    evaluate_in(tmp_path, config_of(plan=plan, correct="reward", correct_reward=-25))

    correct, texts = defaultdict[str, list[bool]](list), defaultdict[str, list[str]](list)
    for response in responses_of(tmp_path):
        if response.sample:
            correct[response.prompt_id].append(response.reward >= -25)
            texts[response.prompt_id].append(response.text)
    assert [len(of_prompt) for of_prompt in correct.values()] == [8] * 6
    values = values_of(tmp_path)[0]
    for k in (1, 2, 4, 8):
        counts = [sum(of_prompt) for of_prompt in correct.values()]
        assert values[f"pass@{k}"] == pytest.approx(fmean(pass_at_k(c, 8, k) for c in counts))
        assert values[f"pass^{k}"] == pytest.approx(fmean(pass_all_k(c, 8, k) for c in counts))
        assert values[f"pass@{k}/low"] <= values[f"pass@{k}"] <= values[f"pass@{k}/high"]
    assert values["text/self_bleu"] == pytest.approx(fmean(map(self_bleu, texts.values())))
    assert values["pass^8"] < values["pass@1"] < values["pass@8"]


def test_a_reference_adds_the_kl_and_its_estimates(tmp_path: Path) -> None:
    evaluate_in(tmp_path / "other", config_of(base="tiny", model="tiny", plan={"prompts": 2, "samples": 2}))

    values = values_of(tmp_path / "other")[0]
    assert {values[name] for name in ("kl", "kl/k1", "kl/k2", "kl/k3")} == {0.0}
    assert values["entropy"] > 0.01
    assert values["entropy/se"] > 0


def test_prior_tasks_are_recorded_under_their_names(tmp_path: Path) -> None:
    evaluate_in(tmp_path, config_of(prior_tasks=[{"name": "countdown"}, {"name": "safety"}]))
    evaluate_in(tmp_path / "alone", config_of(task={"name": "countdown"}))

    values, alone = values_of(tmp_path)[0], values_of(tmp_path / "alone")[0]
    prior = {name.removeprefix("prior/countdown/"): v for name, v in values.items() if name.startswith("prior/count")}
    assert prior == alone
    assert 0 <= values["prior/safety/safety/safe_ratio"] <= 1
    assert "solutions/coverage" not in values
    assert "prior/countdown/solutions/coverage" in values


def test_prompt_forms_change_prompts(tmp_path: Path) -> None:
    forms = {"chat": {"prompt_style": "chat"}, "raw": {"prompt_style": "text"}, "prefill": {"prefill": "The answer"}}
    texts = {}
    for name, form in forms.items():
        evaluate_in(tmp_path / name, config_of(task={"name": "conciseness"} | form))
        texts[name] = [response.text for response in responses_of(tmp_path / name)]
    assert texts["chat"] != texts["raw"]
    assert texts["chat"] != texts["prefill"]


def test_a_correct_response_may_be_defined_by_its_reward(tmp_path: Path) -> None:
    evaluate_in(tmp_path, config_of(correct="reward", correct_reward=-1e6))

    values = values_of(tmp_path)[0]
    assert values["pass^4"] == values["accuracy/greedy"] == 1.0


def test_every_response_records_whether_it_is_correct(tmp_path: Path) -> None:
    """Correct responses, of the task and of a prior one, are those that pass@k and the greedy accuracy count."""
    settings = {"correct": "reward", "correct_reward": -30, "prior_tasks": [{"name": "countdown"}]}
    evaluate_in(tmp_path, config_of(plan={"prompts": 8, "samples": 4, "max_new_tokens": 16}, **settings))

    responses, values = responses_of(tmp_path), values_of(tmp_path)[0]
    assert {r.parts["correct"] for r in responses} == {0.0, 1.0}
    for prefix in ("", "prior/countdown/"):
        of_task = [r for r in responses if ("countdown" in r.categories) == bool(prefix)]
        assert len(of_task) == 8 * 5
        assert all(r.parts["correct"] == (r.reward >= -30) for r in of_task)
        greedy, sampled = (
            [r.parts["correct"] for r in of_task if bool(r.sample) == is_sampled] for is_sampled in (0, 1)
        )
        assert values[f"{prefix}accuracy/greedy"] == fmean(greedy)
        assert values[f"{prefix}pass@1"] == pytest.approx(fmean(sampled))


def test_correct_follows_the_tasks_part_and_is_no_part_of_the_reward(tmp_path: Path) -> None:
    evaluate_in(tmp_path, config_of())

    responses = responses_of(tmp_path)
    assert [r.parts["correct"] for r in responses] == [float(r.parts["right"] > 0) for r in responses]
    assert "reward/correct/mean" not in values_of(tmp_path)[0]


def test_a_part_that_the_task_does_not_measure_is_refused_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"evaluate\.correct: is safe, .* choose right, contains, exact, reward"):
        evaluate_in(tmp_path, config_of(correct="safe"))
    assert values_of(tmp_path) == {}


def test_an_interrupted_evaluation_starts_again_and_a_complete_one_does_nothing(tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(Interrupted):
        evaluate_in(tmp_path, config_of(), stop)
    evaluate_in(tmp_path, config_of())
    evaluate_in(tmp_path, config_of())

    assert [list(values_of(tmp_path, epoch)) for epoch in range(3)] == [[], [0], []]


def test_the_next_attempt_continues_after_recorded_steps(tmp_path: Path) -> None:
    evaluate_in(tmp_path / "esweb-x-a1", config_of())
    evaluate_in(tmp_path / "esweb-x-a2", config_of())
    evaluate_in(tmp_path / "esweb-y-a1", config_of())

    assert values_of(tmp_path / "esweb-x-a2") == {}
    assert values_of(tmp_path / "esweb-y-a1") == values_of(tmp_path / "esweb-x-a1")


def test_a_folder_with_other_settings_is_refused(tmp_path: Path) -> None:
    evaluate_in(tmp_path, config_of())

    with pytest.raises(ConfigError, match="holds results of other settings"):
        evaluate_in(tmp_path, config_of(plan={"samples": 5}))
