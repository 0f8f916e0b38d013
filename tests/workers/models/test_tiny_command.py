"""python -m workers.models.tiny: a folder of one's choice, with a bar."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoModelForCausalLM

from workers.models.resolve import resolve
from workers.models.save import weights_sha256
from workers.models.tiny.__main__ import Bar, main


def test_command_writes_checkpoint_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "m"
    assert main(["--out", str(out), "--name", "micro"]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert weights_sha256(out) == weights_sha256(resolve("micro"))
    assert AutoModelForCausalLM.from_pretrained(out).num_parameters() > 30_000
    assert main(["--out", str(out), "--name", "micro"]) == 0, "the same command again is no mistake"


def test_command_refuses_folder_with_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    assert main(["--out", str(tmp_path), "--name", "micro"]) == 2
    assert main(["--out", str(tmp_path / "thesis.tex"), "--name", "micro"]) == 2
    assert "give a new or empty folder" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", "m", "--name", "huge"])
    assert "tiny" in capsys.readouterr().err


def test_progress_bar_in_log_prints_line_per_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    for step in range(1, 101):
        bar(f"Pre-training the tiny model: loss {1 / step:.3f}, {100 - step} s left", step / 100)
    bar.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11
    assert lines[-1].startswith(" 95%")
    assert "loss" in lines[-1]


def test_progress_bar_on_terminal_overwrites_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar = Bar()
    bar("Pre-training the tiny model: loss 0.5, 30 s left", 0.5)
    bar.close()
    output = capsys.readouterr().err
    assert output.startswith("\r 50% ############............ Pre-training the tiny model: loss 0.5, 30 s left")
    assert output.count("\n") == 1
