"""TRL's dictionaries are read anywhere in a log, at the step of the progress bar before them."""

from __future__ import annotations

import math

from runs.importing.hyperparameters import config_of
from tests.cases import each_case
from tests.runs.importing.sample_logs import read
from workers.executors.states import State

HEAD = """\
[SLURM] array index=0 -> beta=0.0464 seed=1
[Training Config]
  algorithm: GRPO
  beta (KL coef): 0.0464
  max_steps: 10

"""
SUMMARY = "{'train_runtime': 30.5, 'train_loss': 0.25, 'epoch': 2.0}\n"


def bar(step: int, total: int = 10, seconds: int = 0) -> str:
    """Return a progress bar, drawn over the one before."""
    return f"\r {10 * step}%|{'#' * step}| {step}/{total} [00:{seconds:02d}<00:09,  1.00s/it]"


def logged(step: int, reward: float = -2.5, more: str = "") -> str:
    """Return TRL's output at a logging step."""
    cleared = "\r" + " " * 40 + "\r"
    values = f"'loss': 0.125, 'reward': {reward}, 'kl': 0.5, 'num_tokens': {100.0 * step}{more}"
    return f"{bar(step, seconds=step)}{cleared}{{{values}}}\n"


WHOLE = HEAD + logged(5) + logged(10) + SUMMARY


def test_numbers_are_at_the_steps_of_the_bar_under_our_names():
    log = read(WHOLE)
    (run,) = log.runs
    assert log.points("train/loss") == [(0, 5, 0.125), (0, 10, 0.125)]
    assert log.values("train/reward/mean") == log.values("train/reward") == [-2.5, -2.5]
    assert log.values("train/kl") == [0.5, 0.5]
    assert [entry.record.axes for entry in log.entries if entry.record][:2] == [{"tokens": 500.0}, {"tokens": 1000.0}]
    assert [entry.at for entry in log.entries if entry.record][:2] == [5.0, 10.0]
    assert (run.kind, run.method, run.seed, run.state, run.seconds) == ("TRL log", "grpo", 1, State.SUCCEEDED, 30.5)
    assert config_of(run.method, run.settings)["grpo"] == {"beta": 0.0464, "max_steps": 10}


@each_case(
    "spoiled",
    [
        WHOLE.replace("\n", "\r\n"),
        WHOLE.replace("\r", "\r\n"),
        WHOLE.replace("'loss': 0.125", "'loss': '0.125'"),
        WHOLE.replace("'loss': 0.125", "'loss': np.float64(0.125)"),
        WHOLE.replace("'", '"'),
        WHOLE.replace(", 'kl'", ",\n 'kl'"),
        WHOLE.replace("'kl': 0.5", "'kl': \n0.5"),
        WHOLE.replace("{'loss'", "\x1b[A{'loss'"),
        WHOLE.replace("\r 50%", "Loading shards: 100%|###| 4/4 [00:09<00:00,  1.00s/it]\n\r 50%"),
    ],
    ids=["windows", "bars on lines", "texts", "numpy", "JSON", "wrapped", "wrapped amid", "cursor", "other bars"],
)
def test_however_it_is_printed_it_is_the_same(spoiled):
    log = read(spoiled)
    assert log.points("train/loss") == [(0, 5, 0.125), (0, 10, 0.125)]
    assert log.values("train/kl") == [0.5, 0.5]
    assert log.remarks == []


def test_an_evaluation_is_one_and_its_own_bar_moves_no_step():
    evaluation = (
        bar(1, 4) + bar(4, 4) + "\r\x1b[A{'eval_loss': 0.5, 'eval_reward': -0.5, 'eval_kl': 2.0, 'eval_kl': 2.0}\n"
    )
    log = read(HEAD + logged(5) + evaluation + logged(10) + SUMMARY)
    assert log.points("reward/mean") == log.points("eval/reward") == [(0, 5, -0.5)]
    assert log.points("kl") == [(0, 5, 2.0)]
    assert [step for _, step, _ in log.points("train/loss")] == [5, 10]


def test_not_a_number_is_a_number_and_a_word_is_named():
    log = read(HEAD + logged(5, more=", 'grad_norm': nan, 'entropy': inf, 'note': 'hello'") + SUMMARY)
    assert math.isnan(log.values("train/grad_norm")[0])
    assert log.values("train/entropy") == [math.inf]
    assert log.cells == ["line 7, column note: 'hello' is not a number"]


def test_step_given_in_the_dictionary_is_used():
    log = read("{'loss': 1.0, 'reward': 0.0, 'step': 20}\n{'loss': 2.0, 'reward': 0.0, 'step': 40}\n")
    assert log.points("train/loss") == [(0, 20, 1.0), (0, 40, 2.0)]


def test_lines_without_steps_are_counted_and_reported():
    log = read("{'loss': 1.0, 'reward': 0.0}\n{'eval_reward': 0.5}\n{'loss': 2.0, 'reward': 0.0}\n")
    assert log.points("train/loss") == [(0, 1, 1.0), (0, 2, 2.0)]
    assert log.points("reward/mean") == [(0, 1, 0.5)]
    assert log.report.facts == ["the log states no steps: TRL's lines are counted from 1"]


def test_a_dictionary_that_the_file_cuts_off_is_left_out_and_named():
    log = read(HEAD + logged(5) + logged(10).rstrip()[:-9])
    assert log.points("train/loss") == [(0, 5, 0.125)]
    assert log.remarks == ["line 8: the file ends within a dictionary: omitted"]
    assert log.runs[0].state == State.LOST


def test_a_dictionary_that_never_ends_takes_nothing_with_it():
    log = read(HEAD + "{'loss': 0.5, 'reward': 1.0,\n" + logged(5) + "{'unrelated': \n" + logged(10) + SUMMARY)
    assert log.points("train/loss") == [(0, 5, 0.125), (0, 10, 0.125)]
    assert log.remarks == ["line 7: a dictionary that does not end: omitted"]


def test_dictionaries_that_follow_each_other_without_a_line_end_are_all_read():
    log = read(
        "{'loss': 1.0, 'reward': 0.0, 'step': 1}{'loss': 2.0, 'reward': 0.0, 'step': 2}  {'loss': 3.0, 'step': 3}\n"
    )
    assert log.points("train/loss") == [(0, 1, 1.0), (0, 2, 2.0), (0, 3, 3.0)]


def test_a_restart_from_a_checkpoint_is_another_epoch():
    log = read(HEAD + logged(5) + logged(10).replace("10/10", "8/10") + logged(5) + logged(10) + SUMMARY)
    assert [(epoch, step) for epoch, step, _ in log.points("train/loss")] == [(0, 5), (0, 8), (1, 5), (1, 10)]


def test_a_log_of_two_methods_is_two_runs():
    log = read(WHOLE + "Iteration 1/1, Time: 1.00s, Mean: -1.00, Min: -2.00, Max: 0.00, Std: 0.50\n")
    assert [run.kind for run in log.runs] == ["TRL log", "ES log"]


def test_nested_dictionary_is_left_out_alone():
    log = read("{'loss': 1.0, 'reward': 0.0, 'extra': {'mean': 3.0, 'deep': {'kl': 9.0}}, 'kl': 0.5, 'step': 5}\n")
    assert log.points("train/kl") == [(0, 5, 0.5)]
    assert log.values("train/mean") == []
    assert log.cells == ["line 1, column extra: '<dictionary>' is not a number"]
    assert read("{'beta': 0.1, 'reward': 'length', 'seed_results': {'kl': 1.0}}\n").runs == []


def test_other_dictionaries_are_none_of_trls():
    log = read(HEAD + "Updated tokens: {'bos_token_id': None, 'pad_token_id': 151643}.\n" + logged(5) + SUMMARY)
    assert log.points("train/loss") == [(0, 5, 0.125)]
    assert log.remarks == []


def test_sampled_answers_are_numbered_from_one_because_none_is_greedy():
    sample = "  [1/2]\n    Prompt: Days?\n    Target: 7 (len=1)\n    Completion: 7 (len=1)\n    Reward: 0.00\n\n"
    block = "[TRL Eval Completions - Step 5]\n" + "-" * 80 + "\n  Captured 2 eval completions\n\n" + sample + sample
    log = read(HEAD + logged(5) + block)
    assert [(answer_row.sample, answer_row.text, answer_row.parts) for answer_row in log.answers] == [
        (1, "7", {"right": 1.0, "exact": 1.0, "contains": 1.0}),
        (2, "7", {"right": 1.0, "exact": 1.0, "contains": 1.0}),
    ]


@each_case(
    ("first", "second"),
    [
        ("'global_step/max_steps': '10/20', 'percentage': '50.00%'", "'global_step/max_steps': '20/20'"),
        ("'current_steps': 10, 'total_steps': 20, 'elapsed_time': '0:00:10'", "'current_steps': 20, 'total_steps': 20"),
        ("'train/global_step': 10, 'max_steps': '20'", "'train/global_step': 20, 'max_steps': '20'"),
    ],
)
def test_step_that_a_dictionary_states_is_never_counted(first, second):
    log = read(f"{{'loss': 0.5, 'reward': 1.0, {first}}}\n{{'loss': 0.25, 'reward': '0,693', {second}}}\n")
    assert log.points("train/loss") == [(0, 10, 0.5), (0, 20, 0.25)]
    assert {key for entry in log.entries if entry.record for key in entry.record.values} == {
        "train/loss", "train/reward", "train/reward/mean",
    }  # fmt: skip
    assert (log.runs[0].state, len(log.cells)) == (State.SUCCEEDED, 1)


@each_case(
    ("before", "steps"),
    [
        ("2026-01-01 10:00:00.123 | INFO | openrlhf.trainer:fit:100 - Global step {}: ", (50, 1_000, 1_001)),
        ("step={} metrics: ", (50, 60, 70)),
        ("[Iteration {}/90] ", (50, 60, 70)),
        ("Step {:,}/2,000 | ", (999, 1_000, 1_001)),
    ],
)
def test_step_that_a_line_states_before_its_dictionary_is_never_counted(before, steps):
    log = read("".join(before.format(step) + f"{{'loss': 0.{step}, 'reward': 0.5}}\n" for step in steps))
    assert [step for _, step, _ in log.points("train/loss")] == list(steps)
    assert log.report.facts == []
