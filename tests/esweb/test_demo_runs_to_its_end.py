"""The demonstration end to end on the micro model: real servers, a real worker, real training."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import psycopg
import pytest

from esweb.embedded import Postgres, database_url
from tests.chaos.residents import residents
from tests.esweb.test_up_runs_everything import ROOT, environ, processes, without_servers
from tests.lived_in import lived_in
from tests.waiting import PATIENCE_SECONDS, wait_until
from workers.attempt import Process

pytestmark = pytest.mark.slow
DEMO_SECONDS = 3 * PATIENCE_SECONDS
"""The limit for a whole demonstration, which takes minutes where nothing else runs."""


def demo(data: Path, *options: str, console: Path) -> subprocess.Popen[bytes]:
    lived_in(data)
    argv = [sys.executable, ROOT / "manage.py", "demo", "--preset", "micro", "--data", data, "--port", "0", *options]
    with console.open("wb") as out:
        return subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, env=without_servers())


def test_it_ends_with_a_table_a_board_and_zero(tmp_path: Path) -> None:
    console = tmp_path / "console"
    ended = demo(tmp_path / "data", "--exit-when-done", console=console)
    code, said = ended.wait(DEMO_SECONDS), console.read_text()
    assert code == 0, said
    rows = re.findall(r"(ES|GRPO) +(\S+) +(\d) +succeeded +(-?[\d.]+) → (-?[\d.]+)", said)
    assert {(method, seed) for method, _, seed, _, _ in rows} == {(m, s) for m in ("ES", "GRPO") for s in "12"}
    assert all(float(after) > float(before) for *_, before, after in rows)
    assert "Every run succeeded. Rewards of conciseness rose; for safety λ moved" in said
    assert re.search(r"The board: http://127\.0\.0\.1:\d+/judging/\d+/board/", said), said
    assert "Traceback" not in said


def test_stopped_in_the_middle_it_leaves_nothing_running_and_says_what_it_interrupted(tmp_path: Path) -> None:
    data, console = tmp_path / "data", tmp_path / "console"
    running = demo(data, console=console)
    wait_until(lambda: is_training(running, console), "a run to train", details=console.read_text)
    # So that no run ends by itself while the parts of esweb do, which they do first.
    trainings = [resident.process for resident in residents(data) if resident.role == "training"]
    send(trainings, signal.SIGSTOP)
    running.send_signal(signal.SIGINT)
    wait_until(lambda: "worker" not in {resident.role for resident in residents(data)}, "the worker to end")
    send(trainings, signal.SIGCONT)
    assert running.wait(PATIENCE_SECONDS) == 0, console.read_text()
    assert "stopped on this machine, to be resumed: esweb-" in console.read_text()
    assert not [command for pid, command in processes().items() if str(data) in environ(pid)]
    states = states_in(data)
    assert "interrupted" in states
    assert not states.intersection({"running", "stopping", "failed", "lost"})


def is_training(running: subprocess.Popen[bytes], console: Path) -> bool:
    """True once a run has begun. Fails where the demonstration has ended."""
    said = console.read_text()
    assert running.poll() is None, said
    return re.search(r"seed \d: running", said) is not None


def send(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        process.send(number)


def states_in(data: Path) -> set[str]:
    """The states of all runs, as the next start finds them."""
    postgres = Postgres(data)
    postgres.start()
    try:
        with psycopg.connect(database_url(data)) as connection:
            return {str(state) for (state,) in connection.execute("SELECT DISTINCT state FROM runs_run").fetchall()}
    finally:
        postgres.stop()
