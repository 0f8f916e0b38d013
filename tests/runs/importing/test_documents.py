"""JSON of evaluations, reports and trainer states: whole, with keys missing or added, and cut off in the middle."""

from __future__ import annotations

import json
import math

import pytest

from runs.importing import partial_json
from runs.importing.hyperparameters import config_of
from runs.importing.readers import evaluations, reports, trainer_state
from runs.importing.records import ImportReport
from tests.cases import each_case
from workers.executors.states import State
from workers.records import Metric, Response


def seed(reward: float = -2.0, **more):
    """Return an evaluation's result of one seed."""
    completion = {"sample_idx": 0, "completion": "It is 7.", "completion_length": 8, "reward": -7.0, "num_tokens": 4,
            "mean_per_token_kl": 0.5}  # fmt: skip
    question = {
        "question_idx": 0,
        "question": "Days?",
        "target_answer": "7",
        "completions": [completion, {**completion, "completion": ""}],
    }
    return {
        "reward": {"mean": reward, "std": 1.0, "min": -3.0, "max": 0.0, "normalized": {"mean": 0.9}},
        "kl": {"total_tokens": 8, "mean_per_token": 0.25, "per_sample_means": [0.5, 0.5]},
        "completions": [question], **more,
    }  # fmt: skip


def evaluation(**more):
    return {
        "timestamp": "2026-01-11T05:05:49+00:00", "algorithm": "es", "sigma": 0.001, "alpha": 0.0005,
        "config": {"baseline_model_name": "Qwen/Q", "temperature": 0.7, "num_samples": 2, "do_sample": True,
                   "max_new_tokens": 128, "eval_data_path": "/home/somebody/x"},
        "seed_results": {"0": seed(-2.0), "1": seed(-4.0)},
        "aggregate": {"reward_mean": -3.0, "reward_std": 1.0}, **more,
    }  # fmt: skip


def read(entries):
    """Return (entries, remarks and disagreements, facts) of a reader, which is given what it reports to."""
    report = ImportReport()
    items = list(entries(report))
    return items, [*map(str, report.remarks), *report.disagreements], report.facts


def evaluated(document):
    return read(lambda report: evaluations.entries(document, "x.json", report))


def numbers(entries, part=0):
    return next(e.record.values for e in entries if e.run.part == part and isinstance(e.record, Metric))


def answers(entries, part=0):
    return [e.record for e in entries if e.run.part == part and isinstance(e.record, Response)]


def test_an_evaluation_is_a_run_a_seed_with_numbers_and_answers():
    entries, remarks, facts = evaluated(evaluation())
    values = numbers(entries)
    expected = {"reward/mean": -2.0, "reward/std": 1.0, "kl": 0.25, "kl/k3": 0.25, "eval/reward/normalized/mean": 0.9}
    assert {key: values[key] for key in expected} == expected
    shares = [values[key] for key in ("accuracy/right", "accuracy/contains", "accuracy/exact", "response/empty_ratio")]
    assert shares == [0.5, 0.5, 0.0, 0.5]
    first, second = answers(entries)
    assert (first.prompt, first.target, first.text, first.tokens, first.reward) == ("Days?", "7", "It is 7.", 4, -7.0)
    assert (first.sample, second.sample) == (1, 2)
    assert first.parts == {"right": 1.0, "exact": 0.0, "contains": 1.0, "kl_per_token": 0.5}
    assert [entry.run.seed for entry in entries if isinstance(entry.record, Metric)] == [0, 1]
    assert remarks == []
    assert facts == ["its aggregate agrees with its 2 seeds: reward -3 ± 1"]


def test_evaluation_settings_come_from_its_own_config():
    entries, _, _ = evaluated(evaluation())
    run = entries[0].run
    assert config_of(run.method, run.settings) == {
        "schema": 1, "method": "es", "seed": 0, "es": {"sigma": 0.001, "alpha": 0.0005}, "model": {"path": "Qwen/Q"},
        "evaluation": {"temperature": 0.7, "samples": 2, "max_new_tokens": 128},
        "imported": {"evaluation_do_sample": True},
    }  # fmt: skip
    assert "does not state its step" in run.note


@pytest.mark.parametrize("name", ["evals/temp_0.3_x.json", "es_evals/temperature0.3.json"])
def test_a_temperature_in_the_name_is_the_evaluation_s(name):
    entries, _, _ = read(lambda report: evaluations.entries({"seed_results": {"0": seed()}}, name, report))
    config = config_of("grpo", entries[0].run.settings)
    assert (config["evaluation"], "grpo" in config) == ({"temperature": 0.3}, False)


@each_case(
    ("name", "algorithm"), [("es_evals/base.json", "es"), ("x.json", "baseline"), ("evals/untrained_model.json", "")]
)
def test_evaluation_of_the_base_model_is_at_step_0(name, algorithm):
    document = {"algorithm": algorithm, "seed_results": {"0": seed()}}
    entries, _, _ = read(lambda report: evaluations.entries(document, name, report))
    assert {entry.record.step for entry in entries} == {0}
    assert (entries[0].run.stored_method, "before training" in entries[0].run.note) == ("unknown", True)


def test_evaluation_of_a_trained_model_is_no_base_model():
    entries, _, _ = read(lambda report: evaluations.entries(evaluation(), "baseline_es.json", report))
    assert {entry.record.step for entry in entries} == {1}


def test_step_given_in_the_file_is_used():
    entries, _, _ = evaluated(evaluation(iteration=500))
    assert {e.record.step for e in entries} == {500}


def test_greedy_answers_are_sample_zero():
    entries, _, _ = evaluated(evaluation(config={"do_sample": False}))
    assert [answer.sample for answer in answers(entries)] == [0, 1]


def test_failed_seed_has_its_reason():
    entries, remarks, _ = evaluated(evaluation(seed_results={"0": {"error": "checkpoint missing"}, "1": seed()}))
    assert (entries[0].run.state, entries[0].run.reason) == ("failed", "Its evaluation failed: checkpoint missing")
    assert remarks[0] == "seed 0: was not evaluated: checkpoint missing"


def test_seed_with_only_an_empty_error_failed_without_reason():
    entries, remarks, _ = evaluated({"seed_results": {"seed_3": seed(error=None), "4": {"error": None}}})
    assert [(entry.run.seed, entry.run.state) for entry in entries if entry.record is None] == [(4, "failed")]
    assert {entry.run.seed for entry in entries} == {3, 4}
    assert remarks == ["seed 4: was not evaluated: no reason given"]


def test_missing_and_added_keys_do_not_affect_others():
    result = {"reward": {"mean": -1.0}, "win_rate": 0.5, "format": {"rate": 0.25}, "completions": "none"}
    entries, remarks, _ = evaluated({"seed_results": {"7": result, "x": {}, "y": 3}})
    assert numbers(entries) == {"reward/mean": -1.0, "eval/win_rate": 0.5, "eval/format/rate": 0.25}
    assert [str(remark) for remark in remarks] == [
        "seed x: contains no number and no response", "seed y: was not evaluated: it is int and not an object",
    ]  # fmt: skip


def test_answers_without_a_reward_or_text_are_named():
    question = {
        "question": "Q",
        "completions": [{"completion": "a"}, {"reward": 1.0}, {"completion": "b", "reward": 1.0}],
    }
    entries, remarks, _ = evaluated({"seed_results": {"0": {"completions": [question, {}]}}})
    assert [answer.text for answer in answers(entries)] == ["b"]
    assert numbers(entries)["reward/mean"] == 1.0
    assert [remark.split(":")[0] for remark in remarks] == [
        "seed 0, question 0, completion 0", "seed 0, question 0, completion 1", "seed 0, question 1", "seed 0",
    ]  # fmt: skip


def test_token_count_that_is_none_is_zero():
    counts = [3, 1, 0, -1, 2.5, True, "4", 2**31, None]
    completions = [{"completion": "a", "reward": 1.0, "num_tokens": count} for count in counts]
    completions.append({"completion": "a", "reward": 1.0})
    entries, _, _ = evaluated({"seed_results": {"0": {"completions": [{"question": "Q", "completions": completions}]}}})
    assert [answer.tokens for answer in answers(entries)] == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_an_aggregate_that_is_not_its_seeds_is_named():
    _, remarks, _ = evaluated(evaluation(aggregate={"reward_mean": -3.0, "reward_std": math.sqrt(2)}))
    assert remarks == ["its aggregate is -3.0 ± 1.4142135623730951; its 2 seeds give -3.0 ± 1.0"]


@each_case("share", [0.3, 0.5, 0.7, 0.9, 0.99])
def test_cut_evaluation_retains_the_part_before_the_cut(share):
    text = json.dumps(evaluation(), indent=1)
    document = partial_json.parse(text[: int(share * len(text))])
    assert document is not None
    assert document.reason
    assert evaluations.is_evaluation(document.value)
    entries, _, _ = evaluated(document.value)
    assert numbers(entries)["reward/mean"] == -2.0


def test_the_line_of_the_break_is_named():
    text = '{"log_history": [\n{"loss": 1.0, "step": 1},\n{"loss": 2.0, "step": 2},\n{"loss": 3.0, "st'
    document = partial_json.parse(text)
    assert document is not None
    assert (document.line, document.value["log_history"][:2]) == (
        4,
        [{"loss": 1.0, "step": 1}, {"loss": 2.0, "step": 2}],
    )
    assert partial_json.parse("no JSON at all") is None
    assert partial_json.parse("[" * 100_000) is None


def test_a_document_behind_another_is_named_and_the_first_one_is_read():
    whole = json.dumps(evaluation())
    document = partial_json.parse(f"{whole}\n{whole}")
    assert document is not None
    assert (document.value, document.line, document.has_more) == (json.loads(whole), 2, True)
    assert document.reason == "Extra data: nothing after it was read"


def test_a_control_character_in_a_text_costs_nothing():
    document = partial_json.parse('{"completion": "a\tb\x01"}')
    assert document == partial_json.Document({"completion": "a\tb\x01"})


def reported(rows, seeds=()):
    return read(
        lambda report: [
            entry
            for entry in reports.entries(rows, "report.json", report)
            if not reports.is_compared(entry.sums, seeds, report)
        ]
    )


ROW = {"alpha": 0.0005, "sigma": 0.01, "aggregate_reward_mean": -3.0, "aggregate_reward_std": 1.0, "mean_kl": 4.5}


def test_row_without_its_seeds_becomes_an_aggregate():
    entries, remarks, _ = reported([{**ROW, "num_seeds": 4, "num_seeds_hacked_reward": 1}])
    assert numbers(entries) == {
        "eval/reward_mean": -3.0, "eval/reward_std": 1.0, "eval/kl_mean": 4.5, "eval/n": 4.0,
        "eval/num_seeds_hacked_reward": 1.0,
    }  # fmt: skip
    run = entries[0].run
    assert (run.tags, run.method, run.seed, run.state) == (("aggregate",), "es", -1, "succeeded")
    assert "A mean over 4 seeds, not a training" in run.note
    assert remarks == []


def test_row_with_its_seeds_is_checked_and_not_stored_again():
    here = [{"reward/mean": -2.0, "kl": 4.0}, {"reward/mean": -4.0, "kl": 5.0}]
    entries, remarks, facts = reported([ROW], here)
    assert (entries, remarks) == ([], [])
    assert facts == ["alpha=0.0005, sigma=0.01: agrees with the 2 imported seeds"]


def test_a_row_that_its_seeds_do_not_give_is_named():
    _, remarks, facts = reported([ROW], [{"reward/mean": -2.0, "kl": 4.5}, {"reward/mean": -4.5, "kl": 4.5}])
    assert facts == []
    assert [remark.split(" is ")[0] for remark in remarks] == [
        "alpha=0.0005, sigma=0.01: aggregate_reward_mean",
        "alpha=0.0005, sigma=0.01: aggregate_reward_std",
    ]


def test_row_without_comparable_values_is_stored_unchecked():
    entries, remarks, facts = reported([{"alpha": 1, "sigma": 1, "mean_length": 7.0}], [{"reward/mean": -2.0}])
    assert (numbers(entries), remarks, facts) == ({"eval/length_mean": 7.0}, [], [])


def test_hacked_seeds_are_listed_with_seeds_of_empty_answers():
    here = [{"reward/mean": -2.0, "response/empty_ratio": 1.0}, {"reward/mean": -4.0, "response/empty_ratio": 0.75}]
    _, _, facts = reported([{**ROW, "num_seeds_hacked_reward": 1}], here)
    assert facts[-1] == (
        "alpha=0.0005, sigma=0.01: num_seeds_hacked_reward is 1; of the 2 imported seeds, 1 gave only empty responses"
    )


def test_rows_without_means_are_named():
    _, remarks, _ = reported([ROW, {"alpha": 1}, 3])
    assert [str(remark) for remark in remarks] == [f"row {i}: contains no mean over seeds: omitted" for i in (1, 2)]


def state(*history, **more):
    document = {"global_step": 10, "max_steps": 20, "log_history": list(history), **more}
    return read(lambda report: trainer_state.entries(document, "checkpoint-10/trainer_state.json", report))


def test_a_trainer_s_state_gives_its_history():
    entries, remarks, _ = state(
        {"loss": 0.5, "reward": -1.0, "step": 5, "epoch": 0.1, "num_tokens": 100, "step_time": 2.0},
        {"loss": float("nan"), "reward": -0.5, "step": 10, "step_time": 2.0},
        {"eval_reward": -0.25, "step": 10},
    )
    assert [e.record.step for e in entries if e.record] == [5, 10, 10]
    assert numbers(entries)["train/reward/mean"] == -1.0
    assert entries[0].record.axes == {"tokens": 100}
    run = entries[0].run
    assert (run.method, run.state, run.seconds) == ("grpo", "unknown", 4.0)
    assert run.reason == "This is its state at step 10 of 20; it does not state how the run ended"
    assert remarks == []


def test_a_summary_or_the_last_step_is_an_end():
    for done in ({"train_runtime": 9.0, "step": 10}, {"loss": 1.0, "step": 20}):
        entries, _, _ = state({"loss": 1.0, "step": 5}, done)
        assert entries[0].run.state == "succeeded"


def test_entries_without_a_step_or_a_number_are_named():
    entries, remarks, _ = state({"loss": 1.0}, "words", {"step": 3}, {"loss": 2.0, "step": 4, "matrix": [1, 2]})
    assert [e.record.step for e in entries if e.record] == [4]
    assert [remark.split(":")[0] for remark in remarks] == [f"log_history[{i}]" for i in range(3)] + ["log_history[3]"]


def test_values_of_an_entry_that_are_no_numbers_are_named():
    entries, remarks, _ = state({"loss": "n/a", "reward": 1.0, "step": 5})
    assert numbers(entries) == {"train/reward": 1.0, "train/reward/mean": 1.0}
    assert [str(remark) for remark in remarks] == ["log_history[0]: loss is 'n/a' and not a number"]


def test_a_step_may_be_a_text_and_a_loss_infinite():
    entries, remarks, _ = state({"loss": "0.5", "step": "5"}, {"loss": float("inf"), "step": 10.0})
    assert [(e.record.step, e.record.values["train/loss"]) for e in entries if e.record] == [(5, 0.5), (10, math.inf)]
    assert remarks == []


def test_a_history_that_goes_back_is_another_epoch():
    entries, _, _ = state({"loss": 1.0, "step": 5}, {"loss": 1.0, "step": 10}, {"loss": 1.0, "step": 5})
    assert [(e.epoch, e.record.step) for e in entries if e.record] == [(0, 5), (0, 10), (1, 5)]


def whole_evaluation() -> str:
    """Three seeds of two questions with four samples each, as evaluations are published."""

    def result(n):
        completions = [{"completion": "7" if i < 3 else "8", "reward": -1.0, "num_tokens": 1} for i in range(4)]
        questions = [
            {"question_idx": q, "question": f"{q}?", "target_answer": "7", "completions": completions} for q in range(2)
        ]
        return {"reward": {"mean": -1.0 - n}, "kl": {"mean_per_token": 0.1, "per_sample_means": [0.1] * 8},
                "completions": questions, "num_questions": 2, "num_samples_per_question": 4,
                "total_samples": 8}  # fmt: skip

    seeds = {str(n): result(n) for n in range(3)}
    return json.dumps(evaluation(seed_results=seeds, aggregate={}), indent=1)


def test_a_cut_evaluation_is_partial_with_the_number_of_its_answers():
    text, states = whole_evaluation(), set()
    for end in range(600, len(text) - 1, 293):
        document = partial_json.parse(text[:end])
        if document is None or not evaluations.is_evaluation(document.value) or not document.value["seed_results"]:
            continue

        def entries(report, document=document):
            report.is_cut = True
            return evaluations.entries(document.value, "x.json", report)

        items, _, _ = read(entries)
        runs = {entry.run.part: entry.run for entry in items}
        for part, run in runs.items():
            n = len(answers(items, part))
            assert (run.state == State.PARTIAL) == (n < 8), (end, part, n)
            if n < 8:
                wholes = ("8", "an unknown number of")
                assert run.reason in {f"{n} of {whole} responses are in the file" for whole in wholes}
            states.add(run.state)
    assert states == {State.PARTIAL, State.SUCCEEDED}
    items, remarks, _ = evaluated(json.loads(text))
    assert {entry.run.state for entry in items} == {State.SUCCEEDED} and not remarks


def test_missing_requested_seeds_are_named():
    document = evaluation()
    document["config"]["seeds_requested"] = [0, 1, 2, 3]
    _, remarks, _ = evaluated(document)
    assert "seeds 2, 3 were requested and are not in the file" in remarks


def test_file_with_fewer_answers_than_claimed_is_partial():
    _, remarks, _ = evaluated(evaluation(seed_results={"0": seed(total_samples=160)}, aggregate={}))
    assert remarks == ["seed 0: is partial: 2 of 160 responses are in the file"]


def test_state_without_numbers_or_that_is_cut_off_does_not_prove_success() -> None:
    document = {"global_step": 20, "max_steps": 20}
    empty = list(trainer_state.entries({**document, "log_history": []}, "a", ImportReport()))[-1].run
    assert (empty.state, empty.reason) == ("unknown", "Its log_history holds no number")
    report = ImportReport(is_cut=True)
    cut = list(trainer_state.entries({**document, "log_history": [{"step": 1, "loss": 1.0}]}, "a", report))[-1].run
    assert (cut.state, cut.reason) == ("unknown", "The file is cut off")
