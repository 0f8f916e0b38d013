"""Engines on several nodes end with the bits of one process, also after nodes and engines were lost.

The nodes are programs on this machine. Real ones of Slurm and Ray are in tests/clusters.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests import soak_plugin
from tests.waiting import PATIENCE_SECONDS
from tests.workers.engine_nodes.job_here import LOOPBACK, node_programs, start_nodes_here, wait_for_end
from tests.workers.engines.es.engine_faults import FREEZE, KILL, Faults, inject
from tests.workers.engines.es.population import digest
from tests.workers.engines.es.runs import Conciseness, learning, records_of, run
from workers.config import ConfigError
from workers.engine_nodes import launchers
from workers.engine_nodes.handshake import Refused, introduce
from workers.engine_nodes.links import CONTACT
from workers.engine_nodes.remote_node import RemoteNode
from workers.engines.es.engine_group import EngineProcess
from workers.engines.es.engine_group.remote import RemoteEngine
from workers.models import Loaded
from workers.records import Alert, Engines
from workers.tasks import Example, Score

IN_PAIRS: dict[str, Any] = {"rows": 8, "hash_every": 1}
"""Two members with four prompts each in a batch: three batches an iteration."""
SEED = soak_plugin.seed(151)


def alerts_of(directory: Path) -> list[str]:
    return [alert.message for alert in records_of(directory, Alert)]


@pytest.fixture(autouse=True)
def nodes_here(monkeypatch: pytest.MonkeyPatch) -> None:
    start_nodes_here(monkeypatch)
    monkeypatch.setattr(launchers, "FIRST_PAUSE_SECONDS", 0.1)


@pytest.mark.parametrize("options", [{"noise": "full"}, {"noise": "low_rank"}, {"lora": {"rank": 2}}], ids=str)
def test_engines_on_three_nodes_equal_one_process(micro: Loaded, tmp_path: Path, options: dict[str, Any]) -> None:
    options = IN_PAIRS | options
    single = digest(run(micro, tmp_path / "one", **options))
    assert digest(run(micro, tmp_path / "three", nodes=3, **options)) == single
    assert learning(tmp_path / "three") == learning(tmp_path / "one")
    assert (tmp_path / "three" / "replay.jsonl").read_bytes() == (tmp_path / "one" / "replay.jsonl").read_bytes()
    last = records_of(tmp_path / "three", Engines)[-1]
    assert [(engine.number, engine.state, engine.device, engine.restarts) for engine in last.engines] == [
        (number, "ready", "cpu", 0) for number in range(3)
    ]
    assert all(engine.members > 0 and engine.node for engine in last.engines)
    assert not (tmp_path / "three" / CONTACT).exists()
    wait_for_end(os.getpid())


def test_two_engines_a_node(micro: Loaded, tmp_path: Path) -> None:
    single = digest(run(micro, tmp_path / "one", **IN_PAIRS))
    assert digest(run(micro, tmp_path / "four", nodes=2, engines=4, **IN_PAIRS)) == single
    assert "2 engines share 1 core of a node; compute.cores should be at least 2" in alerts_of(tmp_path / "four")


class NodeFaults(Faults):
    """Signals to node programs that have joined, in place of engines. `joined` counts how often one has joined."""

    def __init__(self, plan: Mapping[int, signal.Signals], monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(plan)
        self.joined = 0
        join = RemoteNode.join

        def counted(node: RemoteNode, *args: Any) -> None:
            join(node, *args)
            self.joined += 1

        monkeypatch.setattr(RemoteNode, "join", counted)

    def victim(self, engine: int) -> int | None:
        """Return the only node's program; None until it has joined since it was killed."""
        return node_programs(os.getpid())[0] if self.joined > len(self.sent) else None


class NodeOrEngineFaults(Faults):
    """Signals to node programs and to engines, as drawn. What ends meanwhile gets none."""

    def __init__(self, plan: Mapping[int, signal.Signals], draw: random.Random) -> None:
        super().__init__(plan)
        self._draw = draw

    def before(self, message: str, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            super().before(message, pid)

    def victim(self, engine: int) -> int:
        programs = node_programs(os.getpid())
        return self._draw.choice(programs) if programs and self._draw.random() < 0.5 else engine


@pytest.mark.parametrize("plan", [{0: KILL}, {5: KILL, 17: KILL}, {9: KILL, 12: KILL}], ids=str)
def test_killed_node_rejoins_and_weights_stay_equal(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[int, Any]
) -> None:
    options = IN_PAIRS | {"noise": "low_rank", "iterations": 5, "checkpoint_every": 2}
    straight = digest(run(micro, tmp_path / "straight", **options))
    faults = NodeFaults(plan, monkeypatch)
    inject(monkeypatch, faults)
    assert digest(run(micro, tmp_path / "faults", nodes=2, **options)) == straight
    assert len(faults.sent) == len(plan)
    alerts = alerts_of(tmp_path / "faults")
    assert sum("is lost" in alert and "until it joins again" in alert for alert in alerts) == len(plan)
    assert any("has joined again" in alert for alert in alerts)
    last = records_of(tmp_path / "faults", Engines)[-1].engines[1]
    assert last.state == "ready" and last.restarts >= 1


def test_random_kills_of_nodes_and_engines_leave_weights_unchanged(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_soak, sent = soak_plugin.SECONDS > 0, 0
    options = IN_PAIRS | {"noise": "low_rank", "iterations": 15 if is_soak else 5, "checkpoint_every": 3}
    straight = digest(run(micro, tmp_path / "straight", **options))
    for number in soak_plugin.rounds(1, "runs"):
        draw = random.Random(f"{SEED}-{number}")
        nodes, kills = draw.choice((2, 3)), 12 if is_soak else 3
        faults = NodeOrEngineFaults(dict.fromkeys(draw.sample(range(6 * kills), kills), KILL), draw)
        directory = tmp_path / f"round-{number}"
        with monkeypatch.context() as patch:
            inject(patch, faults)
            weights = digest(run(micro, directory, nodes=nodes, **options))
        assert weights == straight, f"round {number} of seed {SEED}: {nodes} nodes, {faults.sent}"
        sent += len(faults.sent)
        soak_plugin.count(len(faults.sent), "kills")
    assert sent


@pytest.mark.parametrize("sent", [KILL, FREEZE])
def test_dead_or_hanging_engine_of_a_node_is_restarted(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    straight = digest(run(micro, tmp_path / "straight", **IN_PAIRS))
    faults = Faults({7: sent})
    inject(monkeypatch, faults)
    assert digest(run(micro, tmp_path / "faults", nodes=2, **IN_PAIRS)) == straight
    assert records_of(tmp_path / "faults", Engines)[-1].engines[1].restarts == 1
    reason = "was killed by signal 9" if sent == KILL else "hangs: no reply for"
    assert any(f"engine 1 {reason}" in alert for alert in alerts_of(tmp_path / "faults"))


def test_run_goes_on_without_a_node_that_never_comes(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.engines.es.engine_group.remote_group.START_WAIT_SECONDS", 1.0)
    monkeypatch.setattr("tests.workers.engine_nodes.job_here.NODE_PROGRAM", "tests.no_such_program")
    assert digest(run(micro, tmp_path / "two", nodes=2, **IN_PAIRS)) == digest(run(micro, tmp_path / "one", **IN_PAIRS))
    assert records_of(tmp_path / "two", Engines)[-1].engines[1].state == "starting"
    assert any("which starts engines on other nodes, ended with exit code 1" in a for a in alerts_of(tmp_path / "two"))


def test_engine_that_cannot_start_on_a_node_is_given_up(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.engines.es.engine_group.process.PROGRAM", "tests.no_such_program")
    monkeypatch.setattr("workers.engines.es.engine_group.remote.RESTART_PAUSE_SECONDS", 0.01)
    single = digest(run(micro, tmp_path / "one", **IN_PAIRS))
    given_up = threading.Event()
    may_restart = RemoteEngine._may_restart

    def note(engine: RemoteEngine, reason: str) -> bool:
        answer = may_restart(engine, reason)
        if not answer:
            given_up.set()
        return answer

    monkeypatch.setattr(RemoteEngine, "_may_restart", note)
    task = Waits(given_up)
    assert digest(run(micro, tmp_path / "two", task, nodes=2, **IN_PAIRS)) == single
    assert any("engine 1 ended with exit code 1; it is stopped" in alert for alert in alerts_of(tmp_path / "two"))


class Waits(Conciseness):
    """A task whose scores wait for an event: a training of three steps may end before it."""

    def __init__(self, event: threading.Event) -> None:
        super().__init__()
        self._event = event

    def score(self, example: Example, completion: str) -> Score:
        assert self._event.wait(PATIENCE_SECONDS)
        return super().score(example, completion)


class Intruder(Conciseness):
    """A task that, once the nodes are there, tries to connect to the training process as a node of the job."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.refusals: list[str] = []
        self._directory = directory

    def score(self, example: Example, completion: str) -> Score:
        if not self.refusals:
            contact = json.loads((self._directory / CONTACT).read_text())
            with socket.create_connection(tuple(contact["endpoints"][0])) as connected:
                connection = Connection(connected.detach())
            with connection, pytest.raises(Refused) as refused:
                introduce(connection, b"guessed", {"node": 1, "name": "intruder"})
            self.refusals.append(str(refused.value))
        return super().score(example, completion)


def test_node_with_a_wrong_token_is_refused_and_reported(micro: Loaded, tmp_path: Path) -> None:
    single = digest(run(micro, tmp_path / "one", **IN_PAIRS))
    task = Intruder(tmp_path / "two")
    assert digest(run(micro, tmp_path / "two", task, nodes=2, **IN_PAIRS)) == single
    assert task.refusals == ["it closed the connection"]
    assert f"a connection from {LOOPBACK} was refused: it has another token" in alerts_of(tmp_path / "two")
    assert records_of(tmp_path / "two", Engines)[-1].engines[1].restarts == 0


def test_nodes_need_a_scheduler(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(ConfigError, match=r"compute\.nodes: is 2, but this process is in no job of Slurm or Ray"):
        run(micro, tmp_path, nodes=2, **IN_PAIRS)


def test_pid_of_a_remote_engine_is_known(micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    start = EngineProcess.start

    def noting(self: EngineProcess, *args: Any) -> None:
        pids.append(self.pid)
        start(self, *args)

    monkeypatch.setattr(EngineProcess, "start", noting)
    run(micro, tmp_path, nodes=2, iterations=1, **IN_PAIRS)
    assert pids and all(pid > 1 for pid in pids)
