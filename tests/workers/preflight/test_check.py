"""The command `python -m workers.check`: its report, its exit codes and its speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.runs.model_files import QWEN2_7B, write_model_config
from tests.workers.attempts import ENV, PROJECT
from workers.check import main


@pytest.fixture
def run_json(tmp_path: Path) -> Path:
    """Return the config of a run of a 7B model on one GPU. The model has no weights here."""
    folder = tmp_path / "qwen"
    write_model_config(folder, QWEN2_7B)
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (folder / "tokenizer.json").write_text("{}")
    return write(tmp_path, {"model": {"path": str(folder)}})


def write(folder: Path, data: dict[str, Any]) -> Path:
    """Write the config of an ES run on one GPU, with these sections; return its path."""
    es = {"prompts": 200, "max_new_tokens": 1024, "noise": "full", "iterations": 1000, "checkpoint_every": 100}
    path = folder / "run.json"
    path.write_text(json.dumps({"method": "es", "es": es, "compute": {"gpus": 1}} | data))
    return path


def test_report_has_a_section_each(run_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(run_json), "--card", "141"])
    text = capsys.readouterr().out

    assert [line for line in text.splitlines() if line and not line.startswith(" ")] == [
        "Memory of each GPU", "Disk", "Hours", "Needs", "Result",
    ]  # fmt: skip
    assert "141 GB  fits" in text and "10 checkpoints; the newest takes 45.7 GB" in text
    assert "no estimate here: a site estimates the hours from earlier runs." in text


def test_card_that_is_too_small_is_a_problem(run_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run_json), "--card", "24"]) == 1
    assert "GPU memory: the run fits no card of 24 GB." in capsys.readouterr().out


def test_share_of_a_card_is_stated(tmp_path: Path, run_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = json.loads(run_json.read_text())["model"]["path"]
    write(tmp_path, {"model": {"path": path}, "compute": {"gpus": 0.25}})
    assert main([str(run_json), "--card", "141"]) == 1
    text = capsys.readouterr().out
    assert "the run has 0.25 of one GPU; assumed: " in text
    assert "compute.gpus gives it 0.25 of one: raise it, or set it to auto or 1." in text
    for gpus, share in (("auto", 0.02), (0.5, 0.5), (1, 1)):
        write(tmp_path, {"model": {"path": path}, "compute": {"gpus": gpus}})
        main([str(run_json), "--card", "99999", "--json"])
        [card] = json.loads(capsys.readouterr().out)["memory"]["cards"]
        assert card["gpu_share"] == share
    write(tmp_path, {"model": {"path": path}, "compute": {"gpus": "auto"}})
    main([str(run_json), "--card", "141"])
    assert "the run takes 1 of it" in capsys.readouterr().out


def test_disk_that_is_too_full_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str], run_json: Path) -> None:
    data = json.loads(run_json.read_text())
    data["es"] |= {"iterations": 10**6, "checkpoint_every": 1}
    run_json.write_text(json.dumps(data))

    assert main([str(run_json), "--card", "141", "--out", str(tmp_path / "not" / "yet")]) == 1
    assert "Raise the number of steps between checkpoints" in capsys.readouterr().out


def test_report_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write(tmp_path, {"model": {"path": "tiny"}, "compute": {}})
    code, report = main([str(config), "--json"]), json.loads(capsys.readouterr().out)

    assert code == (0 if report["ok"] else 1)
    assert set(report) == {"ok", "problems", "memory", "disk", "hours", "needs"}
    assert report["memory"]["cards"] == [] and "uses no GPU" in report["memory"]["reason"]


def test_every_problem_of_the_config_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write(tmp_path, {"es": {"sigma": -1, "population": 1}})

    assert main([str(config)]) == 2
    errors = capsys.readouterr().err
    assert "es.sigma" in errors and "es.population" in errors
    assert main([str(tmp_path / "missing.json")]) == 2


@pytest.mark.parametrize("size", ["0", "nan", "much"])
def test_card_must_be_a_size(run_json: Path, size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(run_json), "--card", size])
    assert ended.value.code == 2 and "--card" in capsys.readouterr().err


def test_command_imports_no_large_library(run_json: Path) -> None:
    argv = [sys.executable, "-X", "importtime", "-m", "workers.check", str(run_json), "--card", "141"]
    done = subprocess.run(argv, cwd=PROJECT, env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not imported & {"torch", "numpy", "transformers", "django"}


def write_grpo(run_json: Path, **compute: int) -> None:
    """Turn the config into one of method grpo."""
    data = json.loads(run_json.read_text())
    del data["es"]
    run_json.write_text(json.dumps(data | {"method": "grpo", "grpo": {}, "compute": {"gpus": 1, **compute}}))


def test_grpo_gets_phases_and_remedies(run_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_grpo(run_json)

    assert main([str(run_json), "--card", "141"]) == 1
    lines = capsys.readouterr().out.splitlines()
    [card] = [line for line in lines if line.startswith("  ") and "141 GB  too small" in line]
    [remedies] = [line for line in lines if "this card has 141 GB" in line]
    assert all(phase in card for phase in ("generation", "update", "evaluation", "checkpoint"))
    assert "train a LoRA adapter of rank 8" in remedies and "shard over 2 GPUs with grpo.sharding fsdp" in remedies
    assert "  assumed: prompts of up to 512 tokens" in lines


def test_grpo_as_json_has_parts_phases_and_remedies(run_json: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_grpo(run_json, gpus=4, nodes=2)
    main([str(run_json), "--card", "141", "--json"])
    memory = json.loads(capsys.readouterr().out)["memory"]
    [card] = memory["cards"]

    assert memory["assumption"].endswith("one of 8 processes on 2 nodes with 4 GPUs each")
    assert card["needed_gb"] == max(card["phases_gb"].values())
    assert {"master", "gradients", "optimizer", "activations"} <= card["parts_gb"].keys()
    assert all(remedy["needed_gb"] <= card["usable_gb"] for remedy in card["remedies"])


def test_run_that_trains_nothing_gets_no_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "run.json"
    config.write_text(json.dumps({"method": "evaluate", "compute": {"gpus": 1}}))
    main([str(config), "--card", "141"])

    assert "planned for runs of es and grpo only" in capsys.readouterr().out
