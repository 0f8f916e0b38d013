"""Engines that are killed or frozen between two of their messages, and runs that wait for them to come back."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.waiting import wait_until
from workers.engines.es.engine_group import EngineGroup, EngineProcess, commands, process, remote, remote_group

KILL, FREEZE = signal.SIGKILL, signal.SIGSTOP


class Faults:
    """Signals to send to engines: `plan` maps the number of a message, counted over all engines, to a signal."""

    def __init__(self, plan: Mapping[int, signal.Signals]) -> None:
        self.plan = dict(plan)
        self.sent: list[tuple[int, str]] = []
        """The number of a message, and what it was."""
        self._numbers = itertools.count()
        self._due: list[signal.Signals] = []
        self._lock = threading.Lock()

    def before(self, message: str, pid: int) -> None:
        """Send the signal that the plan has for this message, if it has one. Without a victim, the next gets it."""
        with self._lock:
            number = next(self._numbers)
            if number in self.plan:
                self._due.append(self.plan[number])
            if self._due and (victim := self.victim(pid)) is not None:
                os.kill(victim, self._due.pop(0))
                self.sent.append((number, message))

    def victim(self, engine: int) -> int | None:
        """Return the pid that gets the signal: the engine of the message."""
        return engine


def random_faults(seed: int, count: int, messages: int, signals: Sequence[signal.Signals] = (KILL, FREEZE)) -> Faults:
    """Return so many signals among the first messages."""
    draw = random.Random(seed)
    return Faults({number: draw.choice(signals) for number in draw.sample(range(messages), count)})


def inject(monkeypatch: pytest.MonkeyPatch, faults: Faults) -> None:
    """Make every engine that starts from here on suffer the faults; hangs are noticed soon, and nothing is given up."""

    class Faulty(EngineProcess):
        def _send(self, kind: Any, body: bytes = b"") -> None:
            faults.before(f"send {kind.name}", self.pid)
            super()._send(kind, body)

        def _receive_one_of(self, expected: Any, limit: Callable[[], float]) -> Any:
            faults.before(f"receive {expected[0].name}", self.pid)
            return super()._receive_one_of(expected, limit)

    monkeypatch.setattr("workers.engines.es.engine_group.starter.EngineProcess", Faulty)
    monkeypatch.setattr(commands, "MIN_LIMIT_SECONDS", 2.0)
    monkeypatch.setattr(remote, "MAX_CONSECUTIVE_FAILURES", 1000)
    monkeypatch.setattr(remote, "RESTART_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(process, "START_SECONDS", 15.0)
    monkeypatch.setattr(remote_group, "START_WAIT_SECONDS", 60.0)
    wait_for_restarts(monkeypatch)


def wait_for_restarts(monkeypatch: pytest.MonkeyPatch, from_step: int = 0) -> None:
    """Let every iteration wait until no engine is starting, so that a short run meets engines that have come back."""
    answer = EngineGroup.answer

    def patient(self: EngineGroup, *args: Any, **kwargs: Any) -> Iterator[Any]:
        if self.logged[0] >= from_step:
            wait_until(lambda: all(engine.state != "starting" for engine in self._remotes), "the engines to come back")
        yield from answer(self, *args, **kwargs)

    monkeypatch.setattr(EngineGroup, "answer", patient)
