"""A rebuild that cannot be exact to the bit is refused with a reason, and leaves no files."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.workers.engines.es.runs import run
from workers.engines.es import rebuild as rebuilding
from workers.engines.es import replay
from workers.models import Loaded


@pytest.fixture(autouse=True)
def sigterm_put_back() -> Iterator[None]:
    """Restore the handler: the command sets it in its process, which is the tests' own here."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def finished_run(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of four iterations that saved only its last step."""
    directory = tmp_path_factory.mktemp("finished_run") / "run"
    run(micro, directory, iterations=4)
    return directory


@pytest.fixture
def own(finished_run: Path, tmp_path: Path) -> Path:
    """Return a copy of that run, which a test may damage."""
    return Path(shutil.copytree(finished_run, tmp_path / "run"))


def change(log: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edit the start line of a replay log."""
    lines = [line for line in log.read_text().splitlines() if line]
    start = json.loads(lines[0])
    edit(start)
    log.write_text("\n".join([json.dumps(start), *lines[1:]]))


def refusal(root: Path, step: int, *more: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the sentence with which the command refuses."""
    out = root.parent / "rebuilt"
    before = set(root.parent.iterdir())
    assert replay.main([str(root), "--step", str(step), "--out", str(out), *more]) == 2
    assert set(root.parent.iterdir()) == before
    output = capsys.readouterr()
    assert "sha256 " not in output.out.splitlines()[-1:]
    (sentence,) = output.err.splitlines()
    return sentence


Capture = pytest.CaptureFixture[str]


def test_unreached_step_is_refused_with_recorded_steps(own: Path, capsys: Capture) -> None:
    assert refusal(own, 5, capsys=capsys) == "step 5 is not in the run's replay log, which holds the steps 0 to 4"


def test_noise_of_another_version_is_refused(own: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "NOISE_VERSION", 99)
    assert "this code makes version 99" in refusal(own, 4, "--from-base", capsys=capsys)


def test_noise_of_an_unknown_kind_is_refused(own: Path, capsys: Capture) -> None:
    change(own / "replay.jsonl", lambda start: start["noise"].update(kind="sparse"))
    assert "has noise of kind sparse, and this code makes full, low_rank, correlated only" in refusal(
        own, 4, capsys=capsys
    )


def test_log_of_another_version_is_refused(own: Path, capsys: Capture) -> None:
    change(own / "replay.jsonl", lambda start: start.update(log_version=1))
    assert "is of version 1 of this log; this code reads version" in refusal(own, 4, capsys=capsys)


def test_missing_base_model_is_refused(own: Path, capsys: Capture) -> None:
    change(own / "replay.jsonl", lambda start: start.update(base_path="/nowhere"))
    text = "the base model is missing: /nowhere is not a folder; give its current folder with --base"
    assert text in refusal(own, 4, capsys=capsys)


def test_moved_base_model_is_given_by_option(own: Path, micro: Loaded, tmp_path: Path) -> None:
    change(own / "replay.jsonl", lambda start: start.update(base_path="/nowhere"))
    shutil.copytree(micro.path, tmp_path / "moved")
    out = tmp_path / "step-000003"
    assert replay.main([str(own), "--step", "3", "--out", str(out), "--base", str(tmp_path / "moved")]) == 0
    assert (out / "es-state.json").is_file()


def test_changed_base_model_is_refused(own: Path, capsys: Capture) -> None:
    other = own / "checkpoints/step-000004"
    assert "the base model has changed" in refusal(own, 4, "--base", str(other), capsys=capsys)


def test_log_with_gap_is_refused(own: Path, capsys: Capture) -> None:
    log = own / "replay.jsonl"
    log.write_text("\n".join(line for line in log.read_text().splitlines() if '"step":2,' not in line))
    assert "has a gap: step 3 starts from weights" in refusal(own, 4, "--from-base", capsys=capsys)
    assert "which holds the steps 0 to 1, 3 to 4" in refusal(own, 2, capsys=capsys)


def test_tampered_line_is_ignored(own: Path, capsys: Capture) -> None:
    log = own / "replay.jsonl"
    lines = log.read_text().splitlines()
    lines[3] = lines[3].replace('"weights":[', '"weights":[1')
    log.write_text("\n".join(lines))
    assert "the steps 0 to 1, 3 to 4" in refusal(own, 2, capsys=capsys)


def test_gap_is_bridged_by_checkpoint(own: Path, tmp_path: Path) -> None:
    log = own / "replay.jsonl"
    log.write_text("\n".join(line for line in log.read_text().splitlines() if '"step":2,' not in line))
    assert replay.main([str(own), "--step", "4", "--out", str(tmp_path / "rebuilt")]) == 0


def test_weights_other_than_recorded_are_refused(own: Path, capsys: Capture) -> None:
    records = own / "records.0.jsonl"
    checkpoint = next(line for line in records.read_text().splitlines() if '"kind":"checkpoint"' in line)
    recorded = json.loads(checkpoint)["sha256"]
    records.write_text(records.read_text().replace(recorded, "0" * 64))
    sentence = refusal(own, 4, capsys=capsys)
    assert recorded in sentence
    assert "the run recorded " + "0" * 64 in sentence


def test_grpo_run_is_refused(tmp_path: Path, capsys: Capture) -> None:
    attempt = tmp_path / "root" / "esweb-x-a1"
    attempt.mkdir(parents=True)
    (attempt / "run.json").write_text('{"method": "grpo", "grpo": {}}')
    assert "is a run of GRPO" in refusal(tmp_path / "root", 4, capsys=capsys)


def test_folder_without_run_is_refused(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "root").mkdir()
    assert "contains neither the attempts of a run" in refusal(tmp_path / "root", 4, capsys=capsys)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_missing_gpu_is_refused(own: Path, capsys: Capture) -> None:
    assert "torch finds no GPU here" in refusal(own, 4, "--device", "cuda", capsys=capsys)


def test_existing_output_folder_is_refused(own: Path, capsys: Capture) -> None:
    (own.parent / "rebuilt").mkdir()
    assert "choose another name for --out" in refusal(own, 4, capsys=capsys)
