"""The published result files: what they hold, and that a checkpoint of ours becomes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.workers.scorers import scorer
from workers.evaluation.alignment import ScoredAnswer, write
from workers.evaluation.alignment.__main__ import main

ANSWERS = [
    ScoredAnswer("a", "yes", 2.0, -3.0),
    ScoredAnswer("a", "no\u2028", -1.0, -0.0),
    ScoredAnswer("b", "", 0.5, 3.0),
    ScoredAnswer("c", "x", 0.0, 1e-60),
    ScoredAnswer("d", "y", 0.0, 1.0),
]
DATA = Path(__file__).parents[4].parent / "shared" / "data" / "alignment"


def test_result_files_are_consistent(tmp_path: Path) -> None:
    write(tmp_path, "ES-7", ANSWERS, 0.5, {"dataset_split": "test"})
    arrays = {name: np.load(tmp_path / f"ES-7_{name}.npy", allow_pickle=False) for name in ("Rs", "Cs", "labels")}
    assert [array.dtype.str for array in arrays.values()] == ["<f4", "<f4", "<U2"]
    assert arrays["labels"].tolist() == ["SH", "SU", "UH", "SU", "UU"]
    points = [
        json.loads(line) for line in (tmp_path / "ES-7_points.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    ]
    assert [(p["prompt"], p["response"], p["label"]) for p in points][:2] == [
        ("a", "yes", "SH"),
        ("a", "no\u2028", "SU"),
    ]
    summary = json.loads((tmp_path / "ES-7_summary.json").read_text())
    assert summary["counts"] == {"SH": 1, "SU": 2, "UH": 1, "UU": 1}
    assert summary["percents"]["SU"] == 40.0
    assert summary["safe_ratio"] == pytest.approx(60.0)
    assert (summary["R_mean"], summary["num_points"], summary["dataset_split"]) == (pytest.approx(0.3), 5, "test")
    results = json.loads((tmp_path / "final_eval_results.json").read_text())
    assert results["per_sample_results"][0] == {"reward": 2.0, "cost": -3.0, "combined": 3.5}
    assert results["metrics"]["mean_combined"] == pytest.approx(0.3 - 0.5 * 0.2)
    assert results["metadata"]["lambda_cost"] == 0.5


@pytest.mark.skipif(not DATA.is_dir(), reason="the published arrays are not here")
@pytest.mark.parametrize("tag", ["Alpaca-7B", "Beaver-V1", "Beaver-V3", "ES-500"])
def test_published_scores_written_again_give_the_published_summary(tmp_path: Path, tag: str) -> None:
    rewards, costs = (np.load(DATA / f"{tag}_{name}.npy", allow_pickle=False) for name in ("Rs", "Cs"))
    write(
        tmp_path,
        tag,
        [ScoredAnswer("", "", r, c) for r, c in zip(rewards.tolist(), costs.tolist(), strict=True)],
        1.0,
        {},
    )
    ours, published = (json.loads((folder / f"{tag}_summary.json").read_text()) for folder in (tmp_path, DATA))
    assert ours["counts"] == published["counts"]
    assert ours["percents"] == pytest.approx(published["percents"])
    for key in ("safe_ratio", "R_mean", "R_std", "C_mean", "C_std", "num_points"):
        assert ours[key] == pytest.approx(published[key], rel=1e-5)
    labels = [np.load(folder / f"{tag}_labels.npy", allow_pickle=False).tolist() for folder in (tmp_path, DATA)]
    assert labels[0] == labels[1]


def test_command_evaluates_model_with_config_of_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"method": "es", "es": {"max_new_tokens": 8}, "task": {"name": "safety"}}
    (tmp_path / "run.json").write_text(json.dumps(config))
    arguments = ["micro", "--config", str(tmp_path / "run.json"), "--out", str(tmp_path / "out"), "--prompts", "6"]
    assert main(arguments) == 0
    assert "6 responses" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "final_eval_results.json", "micro_Cs.npy", "micro_Rs.npy", "micro_labels.npy", "micro_points.jsonl",
        "micro_summary.json",
    ]  # fmt: skip


def test_no_files_are_written_without_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.scorer.client.FIRST_PAUSE_SECONDS", 0.01)
    with scorer("few") as server:
        options = {"scorer": server.url, "on_scorer_failure": "stop"}
        config = {"method": "es", "es": {"max_new_tokens": 8}, "task": {"name": "safety", "options": options}}
        (tmp_path / "run.json").write_text(json.dumps(config))
        arguments = ["micro", "--config", str(tmp_path / "run.json"), "--out", str(tmp_path / "out"), "--prompts", "2"]
        assert main(arguments) == 1
    assert "costs must be a list of 2 numbers" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
