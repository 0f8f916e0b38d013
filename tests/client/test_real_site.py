"""A run reports to a real site: what it logged is stored there once, also after a kill or without a network."""

from __future__ import annotations

import html
import re
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

import esweb_client
from esweb.backup.restore import end_open_jobs
from esweb_client.leftovers import is_live
from esweb_client.sync import SENT, sync
from runs import access
from runs.metrics import since
from runs.models import Attempt, AttemptEvent, Response, Run
from tests.client.conftest import finish
from tests.client.spool_files import environment, program, running
from tests.runs.live_server import serving
from tests.small_disks import needs_small_disk, small_disk
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


def test_records_with_times_in_another_unit_are_stored_and_reported(
    server: tuple[str, str], spools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = esweb_client.init("conciseness", mode="offline", dir=spools, **QUIET)
    for step in range(3):
        run.log({"x": float(step)}, step=step)
    finish(run)
    [records] = spools.glob("*/*/records.0.jsonl")
    records.write_bytes(
        re.sub(rb'"t":([\d.]+)', lambda match: b'"t":%d' % (float(match[1]) * 1e9), records.read_bytes())
    )
    assert sync(spools, server, lambda line: None).count(SENT) == 1
    row = Run.objects.get()
    assert stored(row, "x") == [0.0, 1.0, 2.0]
    assert [why for level, why in alerts(row) if level == "warning" and "look like nanoseconds (ns)" in why]
    assert capsys.readouterr().err.count("the server cannot use the times of some records: ") == 1


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


def alerts(run: Run) -> list[tuple[str, str]]:
    """Return level and text of the alerts that the run's page lists."""
    events = AttemptEvent.objects.filter(attempt__run=run, to_state="").order_by("pk")
    return [(event.level, event.why) for event in events]


@needs_small_disk
def test_killed_program_with_a_full_disk_is_sent_with_the_count_of_what_is_missing(
    server: tuple[str, str], spools: Path
) -> None:
    text = """
    run = esweb_client.init('p', id='run-7', mode='offline', **start)
    for step in range(2000):
        run.log({'x': float(step)}, step=step)
    os.write(1, b'.')
    sys.stdin.read()
    """
    spools.mkdir()
    with small_disk(spools, 1) as disk:
        disk.fill()
        for name in ("first", "second"):
            with running(text, environment(spools)) as process:
                assert process.stdout is not None
                assert process.stdout.read(1) == b"."
                if name == "second":
                    # The first one dies while the disk is full, the second one after it has written everything.
                    disk.make_room()
                    [records] = [f for f in spools.glob("run-7/*/records.0.jsonl") if is_live(f.parent)]
                    wait_until(lambda records=records: records.read_bytes().count(b"\n") >= 2000, "the records")
                process.send_signal(signal.SIGKILL)
                process.wait(PATIENCE_SECONDS)
        result = sync(spools, server, lambda line: None)
        assert (result.count(SENT), result.is_complete) == (2, True)
    row = Run.objects.get()
    assert (row.experiment.name, row.external.client_id, row.attempts.count()) == ("p", "run-7", 2)
    assert stored(row, "x") == [float(step) for step in range(2000)]
    assert any(level == "warning" and why.startswith("meta.json of this start was lost") for level, why in alerts(row))
    assert {attempt.state for attempt in row.attempts.all()} == {"interrupted"}


@needs_small_disk
def test_page_of_the_run_counts_what_a_full_disk_lost(
    server: tuple[str, str], spools: Path, ada_client: Client
) -> None:
    spools.mkdir()
    with socket.socket() as unused, small_disk(spools, 1) as disk:
        unused.bind(("127.0.0.1", 0))
        away = {"server_url": f"http://127.0.0.1:{unused.getsockname()[1]}", "token": server[1]}
        run = esweb_client.init(id="run-7", dir=spools, **away, **QUIET)
        disk.fill()
        for step in range(3000):
            run.log({"x": float(step)}, step=step)
        run.finish(timeout=0.2)
        disk.make_room()
        assert sync(spools, server, lambda line: None).is_complete
    row = Run.objects.get()
    [(level, why)] = alerts(row)
    assert level == "error" and int(why.partition(" records")[0]) >= 3000 - len(stored(row, "x"))
    for tab in ("run", "run-log"):
        assert why in html.unescape(ada_client.get(reverse(tab, args=[row.uid])).content.decode())
    assert Attempt.objects.get().state == "succeeded"


def test_oversize_settings_are_stored_as_far_as_they_fit(online: dict[str, Any]) -> None:
    huge = ["x" * 10_000] * 120
    for start in (1, 2):
        run = esweb_client.init(id="run-7", config={"huge": huge, "lr": start, f"big {start}": huge[:60]}, **online)
        run.summary.update(best=start, big=huge[:20])
        run.name = f"name {start}"
        run.log({"x": float(start)}, step=start)
        finish(run)
    row = Run.objects.get()
    assert (row.config.keys(), row.config["lr"], row.name) == ({"big 1", "lr"}, 2, "name 2")
    assert (row.external.summary, stored(row, "x")) == ({"best": 2}, [1.0, 2.0])
    assert [attempt.state for attempt in row.attempts.all()] == ["succeeded", "succeeded"]
    named = [why for level, why in alerts(row) if level == "warning"]
    assert [why.partition(" (")[0] for why in named] == [
        "A run's config has at most 1 MB of JSON. Not sent: huge",
        "A run's summary has at most 100 kB of JSON. Not sent: big",
        # The site merges the second config over the first one.
        "config: it has at most 1000 kB of JSON. Not stored: big 2",
        "A run's config has at most 1 MB of JSON. Not sent: huge",
        "A run's summary has at most 100 kB of JSON. Not sent: big",
    ]


def test_site_that_dies_gets_the_rest_and_the_end_when_it_is_back(
    ada: User, spools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esweb_client.pusher.MAX_ENDING_PAUSE_SECONDS", 0.1)
    token = access.issue(ada, "report")[1]
    with serving() as port:
        run = esweb_client.init(server_url=f"http://127.0.0.1:{port}", token=token, dir=spools, **QUIET)
        for step in range(500):
            run.log({"x": float(step)}, step=step)
        wait_until(lambda: Run.objects.exists() and len(stored(Run.objects.get(), "x")) == 500, "the first records")
    for step in range(500, 1000):
        run.log({"x": float(step)}, step=step)
    ending = threading.Thread(target=finish, args=(run,))
    ending.start()
    pusher = run.pusher
    assert pusher is not None
    wait_until(lambda: pusher.failures > 5, "tries without a server")
    with serving(port):
        ending.join(PATIENCE_SECONDS)
    assert pusher.is_done
    row = Run.objects.get()
    assert (row.state, stored(row, "x")) == ("succeeded", [float(step) for step in range(1000)])


def test_running_program_ends_on_a_site_that_was_restored(online: dict[str, Any]) -> None:
    run = esweb_client.init(id="run-7", lost_after_seconds=2, **online)
    run.log({"x": 0.0}, step=0)
    wait_until(lambda: Run.objects.exists() and stored(Run.objects.get(), "x"), "the first record")
    end_open_jobs(timezone.now())
    run.log({"x": 1.0}, step=1)
    wait_until(lambda: Run.objects.get().state == "running", "the run that goes on")
    finish(run)
    row = Run.objects.get()
    assert (row.state, stored(row, "x"), row.attempts.count()) == ("succeeded", [0.0, 1.0], 1)
