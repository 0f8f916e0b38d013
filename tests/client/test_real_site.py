"""A run reports to a real site: what it logged is stored there once, also after a kill or without a network."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

import esweb_client
from esweb_client.sync import SENT, sync
from runs import access
from runs.metrics import since
from runs.models import Attempt, AttemptEvent, Response, Run
from tests.client.conftest import finish
from tests.client.spool_files import environment, program, running
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
QUIET = {"system_metrics_seconds": 0, "capture_git": False}


@pytest.fixture
def server(live_server: LiveServer, ada: User) -> tuple[str, str]:
    """Return the address of the site, and Ada's token to report runs."""
    return live_server.url, access.issue(ada, "report")[1]


@pytest.fixture
def online(server: tuple[str, str], spools: Path) -> dict[str, Any]:
    """Return the settings of a run that reports to the site."""
    return {"server_url": server[0], "token": server[1], "dir": spools, **QUIET}


def stored(run: Run, key: str) -> list[float]:
    """Return the values of a metric that the site has, in the order of their steps."""
    batches = since(run.pk, 0, batches=10_000)
    return [float(value) for _, block in batches if key in block.keys for value in block.column(key)[1]]


def test_run_and_its_records_are_stored(online: dict[str, Any], ada: User) -> None:
    run = esweb_client.init("conciseness", "first", {"lr": 1e-5}, tags=["a"], group="g", method="grpo", **online)
    for step in range(300):
        run.log({"reward/mean": step / 10}, step=step, axes={"tokens": step * 100})
    run.log_responses(["yes", "no"], step=299, prompts=["p", "p"], rewards=[1, None], tokens=[1, 1])
    run.log_population([(1, 0.5), (2, 0.25)], step=299)
    run.log_checkpoint(str(online["dir"]), step=299)
    run.alert("Done", level="warning")
    run.config["late"] = True
    run.summary["best"] = 29.9
    finish(run)
    row = Run.objects.get(uid=run.uid)
    assert (row.experiment.name, row.name, row.method, row.preset) == ("conciseness", "first", "grpo", "g")
    assert (row.config, row.tags, row.created_by) == ({"lr": 1e-5, "late": True}, ["a"], ada)
    assert stored(row, "reward/mean") == [step / 10 for step in range(300)]
    assert stored(row, "summary/best") == [29.9]
    assert Response.objects.filter(run=row).count() == 2
    attempt = Attempt.objects.get(run=row)
    assert (attempt.state, row.external.summary) == ("succeeded", {"best": 29.9})


def test_failure_is_stored_with_its_reason(online: dict[str, Any]) -> None:
    with pytest.raises(MemoryError), esweb_client.init(**online) as run:
        raise MemoryError("GPU 0 is full")
    attempt = Attempt.objects.get(run__uid=run.uid)
    assert (attempt.state, attempt.reason) == ("failed", "MemoryError: GPU 0 is full")


def test_second_start_continues_the_run(online: dict[str, Any]) -> None:
    for number in range(2):
        run = esweb_client.init(id="train-7", **online)
        run.log({"x": float(number)}, step=number)
        finish(run)
    row = Run.objects.get()
    assert list(row.attempts.order_by("n").values_list("n", "state")) == [(1, "succeeded"), (2, "succeeded")]
    assert stored(row, "x") == [0.0, 1.0]


def test_killed_program_is_sent_later_without_doubles(server: tuple[str, str], spools: Path) -> None:
    text = """
    run = esweb_client.init(**start)
    for step in range(2000):
        run.log({'x': float(step)}, step=step)
    os.write(1, b'.')
    sys.stdin.read()
    """
    variables = environment(spools, ESWEB_URL=server[0], ESWEB_TOKEN=server[1])
    with running(text, variables) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        wait_until(lambda: Run.objects.exists() and stored(Run.objects.get(), "x"), "the first records")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_SECONDS)
    assert sync(spools, server, lambda line: None).count(SENT) == 1
    assert stored(Run.objects.get(), "x") == [float(step) for step in range(2000)]
    assert Attempt.objects.get().state == "interrupted"


def test_offline_run_is_sent_later(server: tuple[str, str], spools: Path) -> None:
    text = "with esweb_client.init(mode='offline', **start) as run:\n    run.log({'x': 1.0})\n    run.summary['x'] = 2"
    subprocess.run(program(text), env=environment(spools), check=True, timeout=PATIENCE_SECONDS)
    assert sync(spools, server, lambda line: None, clean=True).count(SENT) == 1
    assert stored(Run.objects.get(), "x") == [1.0]
    assert Attempt.objects.get().state == "succeeded"
    assert list(spools.iterdir()) == []


def test_record_that_the_site_refuses_is_reported_there(online: dict[str, Any]) -> None:
    run = esweb_client.init(**online)
    run.log({"x": 1.0}, step=0)
    assert run._spool is not None
    run._spool.append(b'{"t":1.5,"kind":"unknown","step":1}\n')
    run.log({"x": 2.0}, step=2)
    finish(run)
    row = Run.objects.get()
    assert stored(row, "x") == [1.0, 2.0]
    alerts = AttemptEvent.objects.filter(attempt__run=row).values_list("why", flat=True)
    assert any("The server refused the unknown record" in alert for alert in alerts)
