"""ES logs are read value by value, whatever the terminal, the file system or a crash has done to the text."""

from __future__ import annotations

import math

from runs.importing.hyperparameters import config_of
from runs.importing.readers.log_responses import answer, curves_of
from tests.cases import each_case
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration, read
from workers.executors.states import State

WHOLE = HEADER.format(seed=3) + "".join(iteration(i) for i in (1, 2, 3, 4)) + ENDED


def test_every_printed_number_is_a_point_under_our_names():
    log = read(WHOLE)
    (run,) = log.runs
    assert log.points("train/reward/mean") == [(0, i, -10.5) for i in (1, 2, 3, 4)]
    assert {key: log.values(f"train/reward/{key}")[0] for key in ("min", "max", "std")} == {
        "min": -20.0, "max": -1.25, "std": 3.75,
    }  # fmt: skip
    assert log.values("time/step_seconds") == [2.5] * 4
    assert log.values("es/dead") == [0.0] * 4
    assert (run.kind, run.method, run.seed, run.state, run.seconds) == ("ES log", "es", 3, State.SUCCEEDED, 12.5)
    assert log.remarks == []


def test_settings_of_the_head_become_the_config():
    (run,) = read(WHOLE + "").runs
    assert config_of(run.method, run.settings) == {
        "schema": 1, "method": "es", "seed": 3, "imported": {"train_size": 2},
        "es": {"sigma": 0.001, "alpha": 0.0005, "population": 30, "iterations": 4, "max_new_tokens": 128},
    }  # fmt: skip


def test_folder_name_gives_settings_without_a_head():
    (run,) = read(iteration(1) + iteration(4), "es_logs/alpha0.0015_sigma0.010/es_conciseness_54913306_2.log").runs
    assert config_of(run.method, run.settings) == {
        "schema": 1, "method": "es", "task": {"name": "conciseness"}, "es": {"alpha": 0.0015, "sigma": 0.01},
    }  # fmt: skip
    assert run.seed == -1


@each_case(
    "spoiled",
    [
        WHOLE.replace("\n", "\r\n"),
        WHOLE.replace("Iteration", "\r 10%|#   | 1/9 [00:01<00:09]\r            \rIteration"),
        WHOLE.replace("Iteration", "\x1b[1;32mIteration").replace(", Std", "\x1b[0m, Std"),
        WHOLE.replace("Iteration", "[rank0]: Iteration"),
        WHOLE.replace(", Min", ",   Min"),
        WHOLE.replace("Mean: -10.50", "Mean: np.float64(-10.50)"),
        WHOLE.replace("Mean: -10.50", "Mean: tensor(-10.50, device='cuda:0')"),
        WHOLE.replace("Mean: -10.50,", "Mean: -10.50,\n   "),
        WHOLE.replace("Iteration 3", "/lib/x.py:3: UserWarning: something\n  warnings.warn(\nIteration 3"),
        WHOLE.replace("Iteration 3/4", "\x00\x00\xff\xfe binary \x01\nIteration 3/4"),
    ],
    ids=["windows", "bars", "colours", "ranks", "spaces", "numpy", "torch", "wrapped", "warnings", "garbage"],
)
def test_surrounding_text_does_not_change_the_numbers(spoiled):
    log = read(spoiled)
    assert log.points("train/reward/mean") == [(0, i, -10.5) for i in (1, 2, 3, 4)]
    assert log.values("train/reward/std") == [3.75] * 4
    assert [run.state for run in log.runs] == [State.SUCCEEDED]


def test_numbers_that_are_not_finite_are_preserved():
    log = read(
        iteration(1, mean="nan") + iteration(2, mean="-inf") + iteration(3, mean="inf") + iteration(4, mean="1e-3")
    )
    first, *others = log.values("train/reward/mean")
    assert math.isnan(first)
    assert others == [-math.inf, math.inf, 0.001]


def test_unknown_columns_retain_their_names():
    log = read("Iteration 1/2, Time: 1s, Mean: 1.0, Accuracy: 0.5, Format reward: 0.25\nIteration 2, Mean: 2.0\n")
    assert log.values("train/accuracy") == [0.5]
    assert log.values("train/format_reward") == [0.25]
    assert log.values("train/reward/mean") == [1.0, 2.0]
    assert log.values("es/dead") == []


def test_an_iteration_whose_members_scored_alike_is_dead():
    dead = "Iteration 1/2, Time: 1.00s, Mean: -3.00, Min: -3.00, Max: -3.00\n"
    assert read(dead + dead.replace("1/2", "2/2").replace("Max: -3.00", "Max: -2.00")).values("es/dead") == [1.0, 0.0]


def test_a_line_that_was_cut_off_is_left_out_and_named():
    for cut in ("Iteration 3/4, Time: 2.50s, Mean: -1", iteration(3).rstrip()[:-1], "Iteration 3/4, Ti"):
        log = read(iteration(1) + iteration(2) + cut)
        assert len(log.values("train/reward/mean")) == 2, cut
        assert log.remarks == ["line 3: iteration 3 is cut off: omitted"], cut


def test_a_whole_last_line_without_its_line_end_counts():
    log = read(iteration(1) + iteration(2) + iteration(3).rstrip())
    assert len(log.values("train/reward/std")) == 3
    assert log.remarks == []
    assert read(iteration(1).rstrip()).values("train/reward/std") == [3.75]
    assert read(iteration(1).rstrip()[:-1]).remarks == ["line 1: iteration 1 is cut off: omitted"]


def test_unreadable_line_is_named_and_the_others_are_read():
    log = read(iteration(1) + "Iteration 2/4, Time: ###, Mean: broken\n" + iteration(3))
    assert [step for _, step, _ in log.points("train/reward/mean")] == [1, 3]
    assert log.remarks == ["line 2: iteration 2 has no readable number"]


def test_log_that_stops_has_a_reason_with_its_last_step():
    (run,) = read(iteration(1) + iteration(2)).runs
    assert (run.state, run.reason) == (State.LOST, "Its log ends at step 2 of 4 and states no reason")


def test_log_that_dies_during_training_has_the_exception():
    died = 'Traceback (most recent call last):\n  File "a.py", line 3\nRuntimeError: CUDA error: an illegal access\n'
    (run,) = read(iteration(1) + died).runs
    assert run.state == State.FAILED
    assert run.reason == "The GPU failed: RuntimeError: CUDA error: an illegal access (line 4 of its log)"


def test_a_restart_that_goes_back_is_the_same_run_in_another_epoch():
    head = HEADER.format(seed=0)
    log = read(head + "".join(map(iteration, (1, 2, 3))) + head + "".join(map(iteration, (2, 3, 4))) + ENDED)
    assert len(log.runs) == 1
    assert [(e, s) for e, s, _ in log.points("train/reward/mean")] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (1, 4)]


def test_output_repeated_by_processes_counts_once():
    log = read("".join(iteration(i) * 4 for i in (1, 2, 3)))
    assert [step for _, step, _ in log.points("train/reward/mean")] == [1, 2, 3]


def test_other_settings_in_between_are_another_run():
    first, second = (HEADER.format(seed=seed) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED for seed in (0, 1))
    log = read(first + second)
    assert [(run.part, run.seed, run.state) for run in log.runs] == [(0, 0, "succeeded"), (1, 1, "succeeded")]
    assert len(log.values("train/reward/mean", part=1)) == 4


def test_the_same_settings_after_an_end_are_another_run_too():
    log = HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 4))) + ENDED
    assert len(read(log + log).runs) == 2


def test_held_out_rewards_are_those_of_the_evaluator():
    log = read(iteration(1) + "[Eval] Iteration 1: Mean -122.25  Min -331.00  Max -9.00  Std 128.42\n" + iteration(2))
    assert log.points("reward/mean") == [(0, 1, -122.25)]
    log = read(HEADER.format(seed=0) + iteration(1) + "[Eval] Iteration 1: Mean -122.25  Min -331.00  Max -9.00\n")
    assert [entry.record.axes for entry in log.entries if entry.record] == [{"samples": 60.0}] * 2
    assert [log.values(f"reward/{key}") for key in ("min", "max")] == [[-331.0], [-9.0]]


def test_answers_are_read_line_by_line_with_their_targets():
    block = (
        "[Eval Completions - Step 50] (2 samples)\n" + "-" * 80 + "\n"
        "  [1/2] idx=0\n    Prompt: What is 15% of 200?\n    Target: 30 (len=2)\n"
        "    Generated: Multiply:\n\nIteration is fun\n\n    200 x 0.15 = 30 (len=40)\n    Reward: -38.00\n\n"
        "  [2/2] idx=1\n    Prompt: Capital?\n    Target: Paris (len=5)\n    Generated:  (len=0)\n    Reward: -5.00\n\n"
        + "-" * 80 + "\n"
    )  # fmt: skip
    log = read(iteration(1) + block + iteration(2))
    long, empty = log.answers
    assert long.text == "Multiply:\n\nIteration is fun\n\n    200 x 0.15 = 30"
    assert (long.prompt, long.target, long.reward, long.step, long.split, long.sample) == (
        "What is 15% of 200?", "30", -38.0, 50, "eval", 0,
    )  # fmt: skip
    assert long.parts == {"right": 1.0, "exact": 0.0, "contains": 1.0}
    assert empty.parts == {"right": 0.0, "exact": 0.0, "contains": 0.0}
    assert (empty.text, empty.reward) == ("", -5.0)
    assert len(log.values("train/reward/mean")) == 2
    curves = {key: log.points(key) for key in CURVES}
    assert curves == {
        "accuracy/right": [(0, 50, 0.5)], "accuracy/exact": [(0, 50, 0.0)], "accuracy/contains": [(0, 50, 0.5)],
        "response/empty_ratio": [(0, 50, 0.5)],
        "response/characters_mean": [(0, 50, len(long.text) / 2)], "eval/n": [(0, 50, 2.0)],
    }  # fmt: skip


CURVES = (
    "accuracy/right", "accuracy/exact", "accuracy/contains", "response/empty_ratio", "response/characters_mean",
    "eval/n",
)  # fmt: skip


def test_language_of_answers_is_compared_with_that_of_their_prompts():
    prompt = "What do you think of the house that we have seen, and is it the one for us?"
    same = "I think that it is a good house, and that we have seen what there is for us."
    other = "Ich glaube, dass das Haus gut ist und dass wir alles gesehen haben, was es für uns gibt."
    answers = [answer(1, "eval", prompt, "", 0, text, 0.0) for text in (same, other, "7")]
    assert curves_of(answers)["response/other_language_ratio"] == 0.5
    assert "accuracy/exact" not in curves_of(answers) and curves_of([]) == {}


def test_an_evaluation_that_ends_the_file_has_its_curves():
    block = (
        "[Eval Completions - Step 1] (1 samples)\n  [1/1] idx=0\n    Prompt: A?\n    Target: b (len=1)\n"
        "    Generated: b (len=1)\n    Reward: 0.00\n"
    )
    assert read(iteration(1) + block).points("accuracy/exact") == [(0, 1, 1.0)]


@each_case(
    "line",
    [
        "Iteration 1/2, " + "a " * 200_000,
        "Iteration 1, " + "a.b(" * 100_000,
        "{'loss': " + "a.b(" * 8_000,
        "{'" * 100_000,
        "srun " * 100_000,
        "seed: x" + " " * 200_000 + "y",
        "Namespace(" + "a=b," * 50_000,
        "\x1b[" * 100_000,
        "Traceback (most recent call last):\n" + "A" * 200_000,
    ],
    ids=lambda line: line[:12],
)
def test_no_line_leads_the_patterns_astray(line):
    log = read(f"{iteration(1)}{line}\n{iteration(2)}")
    assert [step for _, step, _ in log.points("train/reward/std")] == [1, 2]


def test_endless_line_takes_bounded_memory(monkeypatch):
    monkeypatch.setattr("runs.importing.text.PIECE", 10_000)
    bars = b"\r 50%|#####     | 2/4 [00:01<00:01, 1.00it/s]" * 1000
    log = read(iteration(1).encode() + bars + b"\n" + b"x" * 30_000 + b"\n" + iteration(2).encode())
    assert [step for _, step, _ in log.points("train/reward/mean")] == [1, 2]
    assert log.remarks[0].startswith("line 3: longer than")


def test_iterations_above_a_thousand_may_be_grouped():
    rows = "".join(
        f"Iteration {step:,}/2,000, Time: 1.00s, Mean: -1,250.50, Std: 1.00\n[Eval] Iteration {step:,}: Mean: -2.00\n"
        for step in (999, 1_000, 1_001)
    )
    log = read(rows)
    assert log.points("train/reward/mean") == [(0, step, -1250.5) for step in (999, 1_000, 1_001)]
    assert [step for _, step, _ in log.points("reward/mean")] == [999, 1_000, 1_001]
    assert log.runs[0].state == State.LOST


def test_number_within_a_refused_value_is_no_series():
    log = read("Iteration 1/1, Time: 1m 30.5s, Mean: -2.98, Std: 6.25\n")
    assert set(log.entries[0].record.values) == {"train/reward/mean", "train/reward/std", "es/dead"}
    assert log.cells == ["line 1, column Time: '1m 30.5s' is not a number"]


def test_processes_that_print_other_numbers_for_one_iteration_are_reported():
    log = read("".join(f"[rank{rank}]: Iteration 1/1, Mean: {rank}.50, Std: 1.00\n" for rank in (0, 1)))
    assert [str(remark) for remark in log.remarks] == [
        "line 2: states step 1 again, with another train/reward/mean: both are saved; split a log of several runs"
    ]
