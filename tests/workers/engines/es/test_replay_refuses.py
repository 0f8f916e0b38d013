"""What cannot be rebuilt to the bit is refused with a sentence that says why, and nothing is left behind."""

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
    """The command takes it over in its process, which here is the tests'."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def made(micro: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations that saved its end only."""
    directory = tmp_path_factory.mktemp("made") / "run"
    run(micro, directory, iterations=4)
    return directory


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(made, tmp_path / "run"))


def change(log: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Edits the line of the start."""
    lines = [line for line in log.read_text().splitlines() if line]
    start = json.loads(lines[0])
    edit(start)
    log.write_text("\n".join([json.dumps(start), *lines[1:]]))


def why(root: Path, step: int, *more: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says as it refuses."""
    out = root.parent / "rebuilt"
    before = set(root.parent.iterdir())
    assert replay.main([str(root), "--step", str(step), "--out", str(out), *more]) == 2
    assert set(root.parent.iterdir()) == before
    said = capsys.readouterr()
    assert "sha256 " not in said.out.splitlines()[-1:]
    (sentence,) = said.err.splitlines()
    return sentence


Capture = pytest.CaptureFixture[str]


def test_a_step_that_was_never_reached_names_those_that_were(own: Path, capsys: Capture) -> None:
    assert why(own, 5, capsys=capsys) == "step 5 is not in the run's replay log, which holds the steps 0 to 4"


def test_noise_of_another_version(own: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuilding, "NOISE_VERSION", 99)
    assert "this code makes version 99" in why(own, 4, "--from-base", capsys=capsys)


def test_a_log_of_another_version(own: Path, capsys: Capture) -> None:
    change(own / "replay.jsonl", lambda start: start.update(log_version=1))
    assert "is of version 1 of this log; this code reads version" in why(own, 4, capsys=capsys)


def test_a_base_model_that_is_missing(own: Path, capsys: Capture) -> None:
    change(own / "replay.jsonl", lambda start: start.update(base_path="/nowhere"))
    assert "the base model is missing: /nowhere is no folder; give --base" in why(own, 4, capsys=capsys)


def test_a_base_model_that_was_moved_is_taken_from_where_it_is(own: Path, micro: Loaded, tmp_path: Path) -> None:
    change(own / "replay.jsonl", lambda start: start.update(base_path="/nowhere"))
    shutil.copytree(micro.path, tmp_path / "moved")
    out = tmp_path / "step-000003"
    assert replay.main([str(own), "--step", "3", "--out", str(out), "--base", str(tmp_path / "moved")]) == 0
    assert (out / "es-state.json").is_file()


def test_a_base_model_that_has_changed(own: Path, capsys: Capture) -> None:
    other = own / "checkpoints/step-000004"
    assert "the base model has changed" in why(own, 4, "--base", str(other), capsys=capsys)


def test_a_log_with_a_gap(own: Path, capsys: Capture) -> None:
    log = own / "replay.jsonl"
    log.write_text("\n".join(line for line in log.read_text().splitlines() if '"step":2,' not in line))
    assert "has a gap: step 3 goes on from weights" in why(own, 4, "--from-base", capsys=capsys)
    assert "which holds the steps 0 to 1, 3 to 4" in why(own, 2, capsys=capsys)


def test_a_line_that_was_tampered_with_is_none(own: Path, capsys: Capture) -> None:
    log = own / "replay.jsonl"
    lines = log.read_text().splitlines()
    lines[3] = lines[3].replace('"weights":[', '"weights":[1')
    log.write_text("\n".join(lines))
    assert "the steps 0 to 1, 3 to 4" in why(own, 2, capsys=capsys)


def test_a_gap_is_none_where_a_checkpoint_bridges_it(own: Path, tmp_path: Path) -> None:
    log = own / "replay.jsonl"
    log.write_text("\n".join(line for line in log.read_text().splitlines() if '"step":2,' not in line))
    assert replay.main([str(own), "--step", "4", "--out", str(tmp_path / "rebuilt")]) == 0


def test_weights_that_are_not_those_that_the_run_recorded(own: Path, capsys: Capture) -> None:
    records = own / "records.0.jsonl"
    checkpoint = next(line for line in records.read_text().splitlines() if '"kind":"checkpoint"' in line)
    recorded = json.loads(checkpoint)["sha256"]
    records.write_text(records.read_text().replace(recorded, "0" * 64))
    sentence = why(own, 4, capsys=capsys)
    assert recorded in sentence
    assert "the run recorded " + "0" * 64 in sentence


def test_a_run_of_grpo(tmp_path: Path, capsys: Capture) -> None:
    attempt = tmp_path / "root" / "esweb-x-a1"
    attempt.mkdir(parents=True)
    (attempt / "run.json").write_text('{"method": "grpo", "grpo": {}}')
    assert "is a run of GRPO" in why(tmp_path / "root", 4, capsys=capsys)


def test_a_folder_that_is_no_run(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "root").mkdir()
    assert "holds neither the attempts of a run" in why(tmp_path / "root", 4, capsys=capsys)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(own: Path, capsys: Capture) -> None:
    assert "torch finds no GPU here" in why(own, 4, "--device", "cuda", capsys=capsys)


def test_a_folder_that_is_there_already(own: Path, capsys: Capture) -> None:
    (own.parent / "rebuilt").mkdir()
    assert "give --out a name that is free" in why(own, 4, capsys=capsys)
