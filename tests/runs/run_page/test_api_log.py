"""The log over the API: its end, its growth, and the way back, as plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Attempt, Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment: Experiment, runs_dir: Path) -> Run:
    return make_run(experiment)


@pytest.fixture
def script(bo: User) -> Client:
    return calls(bo, "read")


def log_file(run: Run) -> Path:
    attempt = run.newest_attempt()
    assert isinstance(attempt, Attempt)
    attempt.directory.mkdir(parents=True, exist_ok=True)
    return attempt.directory / "log.txt"


def read(script: Client, run: Run, **query: int) -> dict[str, Any]:
    response = script.get(f"/api/v1/attempts/esweb-{run.uid}-a1/log", query)
    assert response.status_code == 200, response.content
    return dict(response.json())


def test_last_lines_are_returned_as_plain_text(script: Client, run: Run) -> None:
    log_file(run).write_bytes(b"".join(b"\x1b[31mline %d\x1b[0m\n" % n for n in range(1, 601)))
    page = read(script, run)
    assert (page["first"], len(page["lines"]), page["unfinished"]) == (101, 500, "")
    assert (page["lines"][0], page["lines"][-1]) == ("line 101", "line 600")
    assert page["end"] == page["size"] == log_file(run).stat().st_size
    earlier = read(script, run, until=page["start"])
    assert (earlier["start"], earlier["lines"][0], earlier["lines"][-1]) == (0, "line 1", "line 100")


def test_growth_is_read_from_the_end_of_the_last_whole_line(script: Client, run: Run) -> None:
    log_file(run).write_bytes(b"one\n 10 %\r 50 %")
    page = read(script, run, start=0)
    assert (page["lines"], page["unfinished"], page["end"], page["size"]) == (["one"], " 50 %", 4, 15)
    with log_file(run).open("ab") as log:
        log.write(b"\r100 %\ntwo\n")
    page = read(script, run, start=page["end"])
    assert (page["lines"], page["unfinished"], page["end"]) == (["100 %", "two"], "", page["size"])
    assert read(script, run, start=page["end"])["lines"] == []


def test_attempt_without_log_has_no_lines(script: Client, run: Run) -> None:
    assert read(script, run) == {"start": 0, "end": 0, "size": 0, "first": 1, "lines": [], "unfinished": ""}


def test_link_in_place_of_a_log_is_not_followed(script: Client, run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret\n")
    log_file(run).symlink_to(tmp_path / "secret")
    assert read(script, run)["lines"] == []


def test_invalid_positions_are_refused(script: Client, run: Run) -> None:
    log_file(run).write_text("one\n")
    for query, path in (("start=1&until=2", "until"), ("start=5", "start"), ("until=5", "until")):
        response = script.get(f"/api/v1/attempts/esweb-{run.uid}-a1/log?{query}")
        assert response.status_code == 422 and list(paths(response)) == [path]
    assert paths(response)["until"] == "must be at most 4, the size of the log, not 5"


def test_log_of_a_hidden_run_is_not_found(cy: User, private_experiment: Experiment, runs_dir: Path) -> None:
    run = make_run(private_experiment)
    log_file(run).write_text("secret\n")
    response = calls(cy, "admin").get(f"/api/v1/attempts/esweb-{run.uid}-a1/log")
    assert response.status_code == 404 and b"secret" not in response.content
