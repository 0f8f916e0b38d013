"""Rewards and costs of answers, with or without their texts, become runs whose numbers equal those of the files."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from runs import importing
from runs import metrics as series
from runs.importing import ImportTarget
from runs.models import Prompt, Response, Run
from tests.cases import each_case
from tests.runs.importing import alignment_files

pytestmark = pytest.mark.usefixtures("runs_dir")


def bring_in(path: Path, person):
    with ExitStack() as keep:
        return importing.import_runs(importing.files_from_path(path, keep), ImportTarget(person, "Imported"))


def latest(run: Run) -> dict[str, float]:
    return series.latest([run])[run.pk]


@pytest.fixture
def folder(tmp_path) -> Path:
    path = tmp_path / "alignment"
    path.mkdir()
    return path


@pytest.fixture
def six(folder) -> Path:
    """Return six models that answered ten rows, of which the first four hold one text."""
    prompts = alignment_files.prompts(10, 6, 4)
    for tag in alignment_files.MODELS:
        alignment_files.write(folder, tag, prompts)
    return folder


def test_each_model_becomes_a_run_with_answers_in_row_order(ada, six):
    imported = bring_in(six, ada)
    assert [run.name for run in imported.new_runs] == list(alignment_files.MODELS)
    assert imported.refused == []
    assert not any(outcome.report.remarks for outcome in imported.outcomes)
    run = Run.objects.get(name="ES-500")
    assert (run.method, run.state, run.preset) == ("es", "succeeded", "ES-500")
    responses = Response.objects.filter(run=run).order_by("prompt__row").select_related("prompt")
    assert [response.prompt.row for response in responses] == list(range(10))
    lines = [json.loads(line) for line in (six / "ES-500_points.jsonl").read_text().splitlines()]
    assert [(response.prompt.text, response.text, response.reward, response.cost) for response in responses] == [
        (line["prompt"], line["response"], line["reward"], line["cost"]) for line in lines
    ]
    assert {response.step for response in responses} == {500}


def test_rows_of_one_text_stay_separate_in_all_models(ada, six):
    bring_in(six, ada)
    assert Prompt.objects.count() == 10
    assert len(set(Prompt.objects.values_list("text_key"))) == 6
    assert {prompt.responses.count() for prompt in Prompt.objects.all()} == {6}


def test_computed_summary_equals_the_summary_file(ada, six):
    imported = bring_in(six, ada)
    summary = json.loads((six / "Beaver-V2_summary.json").read_text())
    ours = latest(Run.objects.get(name="Beaver-V2"))
    assert ours["reward/mean"] == pytest.approx(summary["R_mean"], abs=1e-6)
    assert ours["cost/std"] == pytest.approx(summary["C_std"], abs=1e-6)
    assert ours["safety/safe_ratio"] == pytest.approx(summary["safe_ratio"] / 100)
    assert ours["safety/quadrant/UH"] == summary["counts"]["UH"] / 10
    points = [json.loads(line) for line in (six / "Beaver-V2_points.jsonl").read_text().splitlines()]
    assert ours["response/characters_mean"] == sum(len(point["response"].strip()) for point in points) / 10
    assert ours["response/empty_ratio"] == 0.0
    facts = [fact for outcome in imported.outcomes for fact in outcome.report.facts]
    assert sum(fact.startswith("its summary agrees with its 10 responses") for fact in facts) == 6


def test_scores_without_texts_are_rows_too(ada, folder):
    alignment_files.write(folder, "Beaver-V1", alignment_files.prompts(10, 6, 4), with_texts=False)
    (run,) = bring_in(folder, ada).new_runs
    responses = Response.objects.filter(run=run).order_by("prompt__row")
    assert [response.cost for response in responses] == np.load(folder / "Beaver-V1_Cs.npy").tolist()
    assert {(response.words, response.text) for response in responses} == {(None, "")}


def test_summary_that_disagrees_is_reported(ada, six):
    path = six / "ES-100_summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"R_mean": 9.0, "counts": {"SH": 1}}))
    outcomes = bring_in(six, ada).outcomes
    disagreements = [text for outcome in outcomes for text in outcome.report.disagreements]
    assert any(text.startswith("its summary: reward/mean is 9.0; its responses give ") for text in disagreements)
    assert any("the counts are {'SH': 1}; its responses give {'SH'" in text for text in disagreements)
    assert not any(outcome.report.remarks for outcome in outcomes)


def test_a_broken_line_is_named_and_leaves_its_row_empty(ada, folder):
    alignment_files.write(folder, "ES-500", alignment_files.prompts(10, 6, 4))
    path = folder / "ES-500_points.jsonl"
    lines = path.read_text().splitlines()
    lines[3], lines[5] = "{broken", json.dumps({"prompt": "p", "response": "r", "reward": "high", "cost": 1})
    path.write_text("\n".join(lines))
    (outcome,) = bring_in(folder, ada).outcomes
    assert [remark.position for remark in outcome.report.remarks[:2]] == ["line 4", "line 6"]
    (run,) = outcome.new_runs
    assert (run.state, run.newest_attempt().reason) == ("partial", "8 of 10 responses are in the file")
    rows = Response.objects.order_by("prompt__row").values_list("prompt__row", flat=True)
    assert list(rows) == [0, 1, 2, 4, 6, 7, 8, 9]


def test_arrays_of_different_lengths_are_reported(ada, folder):
    np.save(folder / "x_Rs.npy", np.zeros(3, np.float32))
    np.save(folder / "x_Cs.npy", np.zeros(4, np.float32))
    imported = bring_in(folder, ada)
    (outcome,) = imported.outcomes
    assert "different numbers of rows ({'Rs': 3, 'Cs': 4})" in str(outcome.report.remarks[0])
    assert not Response.objects.exists()


@each_case(
    ("array", "reason"),
    [
        (np.array([{"a": 1}], object), "contains object, and neither numbers nor texts"),
        (np.zeros((2, 2)), "states the shape (2, 2)"),
        (np.array(["x"]), "holds <U1, not numbers"),
    ],
)
def test_an_array_of_anything_else_is_never_unpickled(ada, folder, array, reason):
    np.save(folder / "x_Rs.npy", array, allow_pickle=True)
    (outcome,) = bring_in(folder, ada).outcomes
    assert reason in str(outcome.report.remarks[0])


@pytest.mark.parametrize("claim", [b"(9999999999,), }", b"(9999999999,),  "])
def test_a_header_that_claims_what_is_not_there_costs_no_memory(ada, folder, claim):
    np.save(folder / "x_Rs.npy", np.zeros(10))
    data = (folder / "x_Rs.npy").read_bytes().replace(b"(10,), }        ", claim)
    (folder / "x_Rs.npy").write_bytes(data)
    (outcome,) = bring_in(folder, ada).outcomes
    assert "x_Rs.npy" in str(outcome.report.remarks[0])
    assert outcome.new_runs == []


def test_array_with_an_unknown_name_is_refused_with_valid_names(ada, folder):
    np.save(folder / "weights.npy", np.zeros(3))
    (refused,) = bring_in(folder, ada).refused
    assert "_Rs.npy, _Cs.npy or _labels.npy" in refused.reason


def test_a_final_evaluation_is_a_run_at_its_last_iteration(ada, folder):
    rows = [{"reward": 1.0, "cost": -2.0, "combined": 2.0}, {"reward": -1.0, "cost": 3.0, "combined": -2.5}]
    rows += [{"reward": None, "cost": 0.0}]
    metadata = {
        "policy_model_path": "alpaca",
        "num_iterations": 500,
        "timestamp": "2025-11-04T16:00:09",
        "lambda_cost": 0.5,
    }
    metrics = {"mean_reward": 0.0, "mean_cost": 0.5, "mean_combined": -0.25, "total_samples": 3}
    document = {"metadata": metadata, "metrics": metrics, "per_sample_results": rows}
    (folder / "final_eval_results.json").write_text(json.dumps(document))
    imported = bring_in(folder, ada)
    (run,) = imported.new_runs
    assert (run.method, run.config["imported"]["lambda_cost"], run.config["model"]["path"]) == ("es", 0.5, "alpaca")
    assert list(Response.objects.order_by("pk").values_list("step", "reward", "cost")) == [
        (500, 1.0, -2.0), (500, -1.0, 3.0),
    ]  # fmt: skip
    assert latest(run)["safety/safe_ratio"] == 0.5
    remarks = [str(remark) for remark in imported.outcomes[0].report.remarks]
    assert remarks == ["sample 2: has no finite reward and cost: omitted"]
    assert imported.outcomes[0].report.disagreements == ["metrics: eval/n is 3.0; its responses give 2.0"]


def test_the_same_files_make_nothing_again(ada, six):
    bring_in(six, ada)
    again = bring_in(six, ada)
    assert (again.new_runs, len(again.known_runs)) == ([], 6)


def test_rows_of_several_batches_with_one_prompt_stay_separate(ada, folder, monkeypatch):
    monkeypatch.setattr("runs.importing.store.BATCH_SIZE", 30)
    prompts = alignment_files.prompts(100, 40, 52)
    assert (len(prompts), len(set(prompts)), prompts.count(prompts[0])) == (100, 40, 52)
    alignment_files.write(folder, "ES-500", prompts)
    (run,) = bring_in(folder, ada).new_runs
    rows = Response.objects.filter(run=run).order_by("prompt__row")
    assert list(rows.values_list("prompt__row", flat=True)) == list(range(100))
    oftenest = rows.filter(prompt__text=prompts[0])
    assert len(set(oftenest.values_list("prompt__digest", "prompt__row"))) == 52
    assert len(set(rows.values_list("prompt__text_key", flat=True))) == 40


def test_a_line_may_name_its_prompts_categories(ada, folder):
    alignment_files.write(folder, "ES-500", alignment_files.prompts(10, 6, 4))
    points = folder / "ES-500_points.jsonl"
    lines = [json.loads(line) for line in points.read_text().splitlines()]
    lines[2] |= {"response_0_harm_category": {"Drugs": True, "Violence": False}, "prompt_source": "web"}
    points.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    bring_in(folder, ada)
    assert Prompt.objects.get(row=2).categories == ["Drugs", "source: web"]
    assert Prompt.objects.filter(categories=[]).count() == 9


def test_rows_retain_their_positions_around_blank_lines(ada, folder):
    alignment_files.write(folder, "ES-500", alignment_files.prompts(10, 6, 4))
    path = folder / "ES-500_points.jsonl"
    first, *others = path.read_text().splitlines()
    long = json.dumps(json.loads(first) | {"response": "x" * 10_000}).replace('": ', '" : ')
    path.write_text("\ufeff\n" + "\r\n\r\n".join([long, *others]))
    (run,) = bring_in(folder, ada).new_runs
    rows = Response.objects.filter(run=run).order_by("prompt__row")
    assert list(rows.values_list("prompt__row", flat=True)) == list(range(10))
    assert [row.reward for row in rows] == np.load(folder / "ES-500_Rs.npy").tolist()


def test_arrays_that_disagree_with_the_answers_are_reported(ada, folder):
    alignment_files.write(folder, "ES-500", alignment_files.prompts(10, 6, 4))
    np.save(folder / "ES-500_Rs.npy", np.zeros((10, 1), np.float32))
    (outcome,) = bring_in(folder, ada).outcomes
    assert outcome.report.disagreements == ["its Rs differ from those of its responses, which are saved"]


def test_rewards_without_costs_are_reported(ada, folder):
    np.save(folder / "x_Rs.npy", np.zeros(3))
    (outcome,) = bring_in(folder, ada).outcomes
    assert str(outcome.report.remarks[0]).startswith("contains only Rs")


def test_a_final_evaluation_without_its_samples_keeps_its_means(ada, folder):
    document = {"metrics": {"mean_reward": 1.5, "mean_cost": -1.0, "total_samples": 9}, "per_sample_results": []}
    (folder / "final_eval_results.json").write_text(json.dumps(document))
    (run,) = bring_in(folder, ada).new_runs
    assert latest(run) == {"reward/mean": 1.5, "cost/mean": -1.0, "eval/n": 9.0}
