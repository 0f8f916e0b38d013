"""The command line against the real server: a person's token in the environment, and what a command printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from esweb.cli.__main__ import main
from runs import access
from runs.models import Cluster, Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def token(transactional_db: None, ada: User, monkeypatch: pytest.MonkeyPatch, live_server: LiveServer) -> str:
    """A token of Ada's, in the environment."""
    _, text = access.issue(ada, "launch")
    monkeypatch.setenv("ESWEB_URL", live_server.url)
    monkeypatch.setenv("ESWEB_TOKEN", text)
    return text


@pytest.fixture
def say(token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command: its exit code, and what it printed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def said(*argv: str) -> tuple[int, str, str]:
        code = main(argv)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return said


@pytest.fixture
def run(token: str, local: Cluster, experiment: Experiment) -> Run:
    """Ada's run, with records."""
    made = make_run(experiment, "es-micro")
    record(made, a_bit_of_everything())
    return made
