"""Shells complete the commands and their options."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from esweb_client.cli.__main__ import main
from esweb_client.cli.arguments import HELPS


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["la"], ["launch"]),
        (["l"], ["login", "launch", "ls", "logs", "limits"]),
        (["launch", "Concise", "--pre"], ["--preset"]),
        (["export", "--format", ""], ["csv", "jsonl"]),
        (["ls", "exp"], ["experiments"]),
        (["completion", "z"], ["zsh"]),
        (["judge", "s"], ["show", "start"]),
        (["cluster", "t"], ["test"]),
        (["logs", "--fo"], ["--follow"]),
    ],
)
def test_bash_completes_matching_words(
    typed: list[str], offered: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = " ".join(f"'{word}'" for word in ["esweb", *typed])
    completion_call = f'COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _esweb; printf "%s\\n" "${{COMPREPLY[@]}}"'
    result = subprocess.run(
        ["bash", "-c", script("bash", capsys) + "\n" + completion_call], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_in_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = script(shell, capsys)
    assert all(name in text for name in HELPS)
    if shutil.which(shell):
        result = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")
