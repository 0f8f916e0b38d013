"""Logs of several processes, launchers and crashes: lines without their ends, labels, zeros, bars of other programs."""

from __future__ import annotations

from tests.cases import each_case
from tests.runs.importing.sample_logs import ENDED, HEADER, Read, iteration, read
from tests.runs.importing.test_trl_logs import HEAD, SUMMARY, bar, logged
from workers.executors.states import State

ROWS = "".join(iteration(i) for i in (1, 2, 3, 4))
MEMORY = "GPU Memory: 15.50MB allocated, 17.25MB peak"
ES = HEADER.format(seed=3) + ROWS + ENDED
TRL = logged(5) + logged(10) + SUMMARY


def labelled(text: str, label: str) -> str:
    """Return the text with a label before each line, as launchers write it."""
    return "".join(f"{label}{line}\n" for line in text.splitlines())


def means(log: Read) -> list[tuple[int, int, float]]:
    return log.points("train/reward/mean")


@each_case(
    "text",
    [
        ROWS.replace("3.75\n", "3.75"),
        ROWS.replace("3.75\n", "3.75 "),
        ROWS.replace("\n", MEMORY + "\n"),
        ROWS.replace("Iteration", MEMORY + "Iteration"),
        ROWS.replace("Iteration", "\r 10%|#   | 1/9 [00:01<00:09,  2.50s/it]Iteration"),
        ROWS.replace("3.75\n", "3.75,\n"),
        b"\x00" * 5000 + ROWS.replace("Iteration 3", "\x00" * 3000 + "Iteration 3").encode(),
        labelled(ROWS, "0: "),
    ],
    ids=["no line ends", "spaces", "memory behind", "memory before", "bars", "commas", "zeros", "srun --label"],
)
def test_rows_of_es_are_separated(text):
    log = read(text)
    assert means(log) == [(0, i, -10.5) for i in (1, 2, 3, 4)]
    assert log.values("train/reward/std") == [3.75] * 4
    assert [(run.kind, run.state) for run in log.runs] == [("ES log", State.SUCCEEDED)]
    assert {key for entry in log.entries if entry.record for key in entry.record.values} <= {
        *(f"train/reward/{part}" for part in ("mean", "min", "max", "std")), "time/step_seconds", "es/dead",
        "system/gpu_allocated_mb", "system/gpu_peak_mb",
    }  # fmt: skip
    assert log.remarks == []


def test_a_row_that_ends_with_a_comma_takes_nothing_of_the_next():
    log = read("Iteration 1/2, Mean: -1.00,\nIteration 2/2, Mean: -2.00, Std: 0.50\n")
    assert means(log) == [(0, 1, -1.0), (0, 2, -2.0)]
    assert log.points("train/reward/std") == [(0, 2, 0.5)]
    log = read(f"Iteration 1/2, Mean: -1.00,\n{MEMORY}\nIteration 2/2, Mean:\nwandb: 3\nIteration 2/2, Mean:\n-2.00\n")
    assert means(log) == [(0, 1, -1.0), (0, 2, -2.0)]
    assert log.values("system/gpu_peak_mb") == [17.25]
    assert log.remarks == ["line 3: iteration 2 has no readable number"]


@each_case("value", ["-10,50", "broken", "--", "\N{MINUS SIGN}10.50", "1.5k"])
def test_invalid_value_is_named_and_not_truncated(value):
    log = read(iteration(1, mean=value) + iteration(2))
    assert means(log) == [(0, 2, -10.5)]
    assert log.values("train/reward/min") == [-20.0, -20.0]
    assert log.cells == [f"line 1, column Mean: {value!r} is not a number"] and log.remarks == []


@each_case("label", ["0: ", " 3: ", "[rank0]: ", "[rank0]:", "[default0]:", "(Trainer pid=12) "])
def test_labels_of_launchers_hide_neither_settings_nor_bars_nor_answers(label):
    (run,) = read(labelled(ES, label)).runs
    assert (run.seed, run.settings["sigma"], run.state) == (3, 0.001, State.SUCCEEDED)
    log = read(labelled((HEAD + TRL).replace("\r", "\n"), label))
    assert log.points("train/loss") == [(0, 5, 0.125), (0, 10, 0.125)]
    block = (
        "[TRL Eval Completions - Step 5]\n  [1/1]\n    Prompt: P\n    Completion: {1: a}{'b\n\n1: c\n    Reward: 0.00\n"
    )
    assert [answer_row.text for answer_row in read(labelled(block, label)).answers] == ["{1: a}{'b\n\n1: c"]
    assert [answer_row.text for answer_row in read(block).answers] == ["{1: a}{'b\n\n1: c"]


OTHER = {
    "full before training": "100%|####| 2/2 [00:00<00:00, 300.00it/s]\n" + TRL,
    "an evaluation's, as long as training's": logged(5)
    + "".join(bar(i, seconds=i) for i in range(11))
    + "\x1b[A\r{'eval_loss': 0.5, 'epoch': 1.0}\n"
    + logged(10)
    + SUMMARY,
}


@each_case("text", OTHER.values(), ids=list(OTHER))
def test_bars_of_others_move_no_step(text):
    log = read(text)
    assert log.points("train/loss") == [(0, 5, 0.125), (0, 10, 0.125)]
    assert [step for _, step, _ in log.points("eval/loss")] in ([], [5])


def test_a_bar_that_begins_again_without_an_evaluation_is_a_restart():
    log = read(logged(5) + logged(10).replace("10/10", "8/10") + bar(0) + logged(5) + logged(10) + SUMMARY)
    assert [(epoch, step) for epoch, step, _ in log.points("train/loss")] == [(0, 5), (0, 8), (1, 5), (1, 10)]


def test_log_that_compares_answers_is_not_grpo():
    dpo = "{'loss': 0.69, 'rewards/chosen': 0.1, 'rewards/rejected': -0.1, 'step': 5, 'epoch': 0.1}\n"
    log = read(dpo)
    assert [run.method for run in log.runs] == [""]
    assert log.points("train/rewards/chosen") == [(0, 5, 0.1)]
    assert log.values("train/step") == []
