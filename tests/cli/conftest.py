"""The command line against the real server: a user's token in the environment, and the output of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from esweb_client.cli.__main__ import main
from runs import access
from runs.models import Cluster, Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.runs.live_server import serving

RunCli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def token(transactional_db: None, ada: User, monkeypatch: pytest.MonkeyPatch, live_server: LiveServer) -> str:
    """Return a token of Ada's, which is also in the environment."""
    _, text = access.issue(ada, "launch")
    monkeypatch.setenv("ESWEB_URL", live_server.url)
    monkeypatch.setenv("ESWEB_TOKEN", text)
    return text


@pytest.fixture
def run_cli(token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCli:
    """Return a function that runs a command and returns its exit code, stdout and stderr."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run_command(*argv: str) -> tuple[int, str, str]:
        code = main(argv)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run_command


@pytest.fixture
def asgi_server(run_cli: RunCli, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let the commands call a server over ASGI, as a site runs one, and yield its address. Downloads need it."""
    with serving() as port:
        url = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("ESWEB_URL", url)
        yield url


@pytest.fixture
def run(token: str, local: Cluster, experiment: Experiment) -> Run:
    """Return Ada's run, with records."""
    created_run = make_run(experiment, "es-micro")
    record(created_run, a_bit_of_everything())
    return created_run
