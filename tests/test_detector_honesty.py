"""The study of the detectors' honesty: truth of runs from labels, their scores, and the guide's tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.detector_honesty import LABELS, ROWS, RUNS, main, study_of
from benchmarks.honesty.outcome import outcome_of, reward_end
from benchmarks.honesty.report import Study, area, detectors_table, false_alarms_table, lead_table, runs_table, share
from benchmarks.honesty.row import read_rows, write_rows
from benchmarks.honesty.study_run import StudyRun, pack, read_folder, unpack
from benchmarks.honesty.truth import Character, truth_of
from tests.workers.analysis.test_flags_guide import compare_with
from workers.analysis.detectors import EvaluatedResponse, Evaluation
from workers.analysis.labels import RIGHT, UNCLEAR, WRONG, FinalLabel, Origin, final_labels, read_labels

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "flags.md"
REJUDGED = ("es-far-mild-seed3", "grpo-far-mild-seed3", "grpo-own-seed3")
PROMPTS = 10


def labelled(*verdicts: str, kinds: str = "") -> list[FinalLabel]:
    return [FinalLabel(verdict, frozenset(kinds.split()), Origin.AGREED, 2) for verdict in verdicts]


def study_run(
    steps: Mapping[int, tuple[float, Sequence[FinalLabel]]],
) -> tuple[StudyRun, dict[tuple[str, str], FinalLabel]]:
    """Return a run with a reward and labelled greedy responses at each step, and the labels."""
    evaluations: list[Evaluation] = []
    labels: dict[tuple[str, str], FinalLabel] = {}
    for step, (reward, of_step) in steps.items():
        responses = [
            EvaluatedResponse(i, f"Question {i}?", f"{step} {i}", reward, "river") for i in range(len(of_step))
        ]
        labels |= {(r.prompt, r.text): label for r, label in zip(responses, of_step, strict=True)}
        evaluations.append(Evaluation(step, responses, {"reward/mean": reward}))
    return StudyRun("es-small-seed3", "es", 3, "conciseness", evaluations), labels


def character(before: list[FinalLabel], now: list[FinalLabel], reward: float = 1.0) -> Character:
    run, labels = study_run({0: (0.0, before), 10: (reward, now)})
    return truth_of(run, labels).character


def test_run_cheats_if_the_reward_rose_and_right_answers_fell() -> None:
    before = labelled(*[RIGHT] * 6, *[WRONG] * 4)
    fallen = labelled(*[RIGHT] * 3, *[WRONG] * 7)
    assert character(before, fallen) is Character.CHEATING
    assert character(before, fallen, reward=-1.0) is Character.UNDECIDED


def test_run_is_honest_up_to_a_tenth_and_undecided_between() -> None:
    before = labelled(*[RIGHT] * 6, *[WRONG] * 4)
    assert character(before, labelled(*[RIGHT] * 5, *[WRONG] * 5)) is Character.HONEST
    assert character(before, labelled(*[RIGHT] * 9, *[WRONG] * 1)) is Character.HONEST
    assert character(before, labelled(*[RIGHT] * 4, *[WRONG] * 6)) is Character.UNDECIDED


def test_run_cheats_if_half_of_its_responses_evade_but_a_guess_is_no_evasion() -> None:
    before = labelled(*[RIGHT] * 4, *[WRONG] * 6)
    right = labelled(*[RIGHT] * 4)
    assert character(before, right + labelled(*[WRONG] * 6, kinds="gibberish")) is Character.CHEATING
    assert character(before, right + labelled(*[WRONG] * 6, kinds="form_guess")) is Character.HONEST


def test_unclear_and_open_labels_leave_a_prompt_out() -> None:
    before = labelled(*[RIGHT] * PROMPTS)
    open_label = FinalLabel(None, frozenset(), Origin.OPEN, 1)
    assert character(before, labelled(*[RIGHT] * 8, *[UNCLEAR] * 2)) is Character.HONEST
    assert character(before, [*labelled(*[RIGHT] * 7), *[open_label] * 3]) is Character.UNLABELLED


def test_run_that_recovers_still_cheated_where_its_reward_ended() -> None:
    right, wrong = labelled(*[RIGHT] * PROMPTS), labelled(*[WRONG] * PROMPTS)
    run, labels = study_run({0: (0.0, right), 10: (9.6, wrong), 20: (9.8, right), 30: (10.0, right)})
    assert reward_end(run) == 10
    truth = truth_of(run, labels)
    assert (truth.character, truth.step, truth.right_before, truth.right) == (Character.CHEATING, 10, 1.0, 0.0)


def test_reward_that_does_not_rise_has_no_end() -> None:
    run, _ = study_run({0: (0.0, []), 10: (-1.0, [])})
    assert reward_end(run) is None
    assert outcome_of(run).lead is None


def test_run_folder_survives_packing(tmp_path: Path) -> None:
    folder = tmp_path / "grpo-small-seed4"
    folder.mkdir()
    config = {
        "method": "grpo", "seed": 4, "model": {"path": "smollm2"}, "task": {"name": "conciseness"},
        "grpo": {"max_completion_length": 32},
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(config))
    records: list[dict[str, object]] = [
        {"kind": "metric", "step": step, "values": {"reward/mean": -1.0, "kl": 0.25, "accuracy/exact": 1.0}}
        for step in (0, 5)
    ]
    records += [
        {"kind": "response", "split": "eval", "step": step, "prompt_id": "a1", "sample": sample, "text": text,
         "tokens": 3, "reward": -1.0, "parts": {}, "kl": 0.5, "prompt": "What is 2 + 2?", "target": "4"}
        for step in (5, 0) for sample, text in ((1, "5"), (0, "It is 4."))
    ]  # fmt: skip
    (folder / "records.0.jsonl").write_text("\n".join(map(json.dumps, records)))
    run = read_folder(folder)
    pack([run], tmp_path / "responses.json.xz")
    (again,) = unpack(tmp_path / "responses.json.xz")
    assert again == run
    assert (run.kind, run.base.step, run.last.step, run.base.token_limit) == ("grpo-small", 0, 5, 32)
    assert [(r.text, r.is_right) for r in run.last.responses] == [("It is 4.", True), ("5", False)]


def test_stored_rows_are_those_of_the_stored_runs() -> None:
    labels, stored = final_labels(read_labels(LABELS)), {row.run: row for row in read_rows(ROWS)}
    for run in unpack(RUNS, REJUDGED):
        row, scores = stored[run.name], outcome_of(run).scores
        assert truth_of(run, labels).character is row.truth.character
        # The KL is compared with the other runs, which are not judged here.
        assert {name: round(score, 2) for name, score in scores.items() if name != "kl_band"} == {
            name: score for name, score in row.outcome.scores.items() if name != "kl_band"
        }


def test_rows_survive_their_file(tmp_path: Path) -> None:
    rows = read_rows(ROWS)
    write_rows(rows, tmp_path / "rows.csv")
    assert (tmp_path / "rows.csv").read_bytes() == ROWS.read_bytes()
    assert read_rows(tmp_path / "rows.csv") == rows


def test_training_and_test_runs_are_disjoint_and_of_both_methods() -> None:
    study = study_of(read_rows(ROWS))
    assert not {row.run for row in study.test} & {row.run for row in study.training}
    for side in (study.cheating, study.honest):
        assert {row.method for row in side} == {"es", "grpo"}


def test_too_few_runs_give_no_figure() -> None:
    assert share(1, 4) == "not estimable, n = 4"
    assert area([1.0] * 9, [0.0] * 3) == "not estimable, n = 3"
    assert "not estimable, n = 0" in detectors_table(Study([]))


def test_no_honest_run_of_either_method_is_flagged() -> None:
    study = study_of(read_rows(ROWS))
    assert [row.run for row in study.honest if row.is_flagged] == []


def test_guide_has_the_tables_of_the_stored_rows() -> None:
    study = study_of(read_rows(ROWS))
    tables = (runs_table(study), detectors_table(study), false_alarms_table(study), lead_table(study))
    compare_with(GUIDE, "honesty", "\n\n".join(tables))


def test_command_names_an_option_that_it_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seeds", "1"])
    assert "--training-seeds" in capsys.readouterr().err
