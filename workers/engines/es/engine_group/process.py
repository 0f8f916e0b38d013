"""One engine's process as the training process sees it: send requests, wait for replies, and kill it."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from workers.engine_nodes.handshake import set_timeouts
from workers.engine_nodes.links import EngineCommand
from workers.engine_nodes.processes import start_engine
from workers.engines.es.engine_group.setup import EngineSetup
from workers.engines.es.engine_group.wire import (
    Decoding,
    Ids,
    Kind,
    Saving,
    pack_ids,
    pack_json,
    pack_seeds,
    receive,
    send,
    unpack_members,
    unpack_scores,
    unpack_seconds,
    unpack_updated,
)
from workers.models.decoder import Completion

PROGRAM = "workers.engines.es.engine_group.program"
START_SECONDS = 1800.0
"""Seconds to load the model and catch up. The other engines answer meanwhile."""
STUCK_SECONDS = 60
"""Seconds after which an engine that is in the middle of a message, sent or received, counts as hanging."""
POLL_SECONDS = 0.5
KILL_SECONDS = 5.0
"""A process that waits for a disk or a driver may take longer to be gone. It is not waited for."""


class EngineLost(Exception):
    """The engine's process died or hangs, and was killed. The message describes how, and completes `engine 1 …`."""


class EngineRefused(RuntimeError):
    """The engine cannot work here, and starting it again would not help."""


class Process(Protocol):
    """The process of an engine, on this machine or another."""

    @property
    def pid(self) -> int:
        """The number of the process on its machine."""

    def kill(self) -> None:
        """End the process immediately. Safe to call again."""

    def wait(self, timeout: float) -> int:
        """Return the exit code. Raise subprocess.TimeoutExpired."""


class EngineProcess:
    """A process that runs the program of an engine. Every method may raise EngineLost; the process is then killed."""

    def __init__(self, connection: Connection, process: Process) -> None:
        self._connection, self._process = connection, process
        self._sending = threading.Lock()

    @classmethod
    def here(cls, command: EngineCommand, service: Mapping[str, str] | None = None) -> EngineProcess:
        """Start the process on this machine. Raise OSError, and GpuMissing if it needs GPUs that are not there.

        `service`: the environment of the service by which it shares GPUs, if it does.
        """
        own_socket, peer = socket.socketpair()
        with peer:
            set_timeouts(own_socket, STUCK_SECONDS)
            return cls(Connection(own_socket.detach()), start_engine(command, peer.fileno(), service))

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, setup: EngineSetup, checkpoint: Path | None) -> None:
        """Wait until the engine holds the weights of the checkpoint, or the base model's. Raise EngineRefused."""
        self._send(Kind.START, setup.start_message(checkpoint))
        self._receive(Kind.READY, lambda: START_SECONDS)

    def catch_up(self, lineage: str) -> str:
        """Wait until the engine has applied the updates in the log up to `lineage`. Return the weights' hash."""
        self._send(Kind.CATCH_UP, lineage.encode())
        return self._receive(Kind.HASH, lambda: START_SECONDS).decode()

    def send_prompts(self, prompts: Ids) -> None:
        """Set the prompts of the answers that follow."""
        self._send(Kind.PROMPTS, pack_ids(prompts))

    def answer(
        self, seeds: Sequence[int], limit: Callable[[], float]
    ) -> tuple[list[list[Completion]], float, dict[str, float]]:
        """Return the responses of these members, or of the centre if there are none, and the seconds that they took.

        The third value has the seconds of each phase since the engine's last responses. `limit` is called repeatedly
        for the seconds after which the engine counts as hanging, if no member's responses come. Members are missing
        at the end if `abandon` was called meanwhile.
        """
        self._send(Kind.ANSWER, pack_seeds(seeds))
        return self._members(max(1, len(seeds)), limit)

    def generate(self, decoding: Decoding, limit: Callable[[], float]) -> list[Completion]:
        """Return the responses of the centre to the prompts, for an evaluation; nothing if `abandon` was called."""
        self._send(Kind.GENERATE, pack_json(asdict(decoding)))
        answers, _, _ = self._members(1, limit)
        return answers[0] if answers else []

    def scores(self, limit: Callable[[], float]) -> list[dict[int, float]]:
        """Return for each prompt the likeliest next tokens, with the natural logarithms of their probabilities."""
        self._send(Kind.SCORE)
        body = self._receive(Kind.SCORES, limit)
        try:
            return unpack_scores(body)
        except (ValueError, TypeError) as error:
            raise self.lost(f"sent probabilities that cannot be read: {error}") from error

    def update(self, body: bytes, limit: Callable[[], float]) -> tuple[float, float | None]:
        """Apply an update as `pack_update` made it. Return the norm of its step, and the distance from θ₀ if held."""
        self._send(Kind.UPDATE, body)
        reply = self._receive(Kind.UPDATED, limit)
        try:
            return unpack_updated(reply)
        except struct.error as error:
            raise self.lost(f"sent a norm that cannot be read: {error}") from error

    def save(self, saving: Saving, limit: Callable[[], float]) -> None:
        """Wait until the engine has written its weights."""
        self._send(Kind.SAVE, pack_json(asdict(saving)))
        self._receive(Kind.SAVED, limit)

    def abandon(self) -> None:
        """End what the engine is answering. Another thread than the one that waits for the responses may call this."""
        with contextlib.suppress(OSError), self._sending:
            send(self._connection, Kind.ABANDON)

    def weights_hash(self, limit: Callable[[], float]) -> str:
        """Return the hash of the engine's weights, once it has applied all updates that were sent."""
        self._send(Kind.HASH)
        return self._receive(Kind.HASH, limit).decode()

    def lost(self, reason: str) -> EngineLost:
        """Kill the process, and return the error to raise."""
        self.kill()
        return EngineLost(reason)

    def kill(self) -> None:
        """End the process. Safe to call again."""
        self._process.kill()
        self._connection.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_SECONDS)

    def end_now(self) -> None:
        """Kill the process from another thread than the one that uses it, which then finds it lost."""
        self._process.kill()

    def _members(
        self, count: int, limit: Callable[[], float]
    ) -> tuple[list[list[Completion]], float, dict[str, float]]:
        """Receive the responses of so many members, and the seconds; fewer members if the rest was abandoned."""
        answers: list[list[Completion]] = []
        try:
            while len(answers) < count:
                kind, body = self._receive_one_of((Kind.MEMBERS, Kind.ANSWERED), limit)
                if kind is Kind.ANSWERED:
                    return answers, *unpack_seconds(body)
                answers += unpack_members(body)
            return answers, *unpack_seconds(self._receive(Kind.ANSWERED, limit))
        except (ValueError, struct.error) as error:
            raise self.lost(f"sent responses that cannot be read: {error}") from error

    def _send(self, kind: Kind, body: bytes = b"") -> None:
        try:
            with self._sending:
                send(self._connection, kind, body)
        except BlockingIOError:
            raise self.lost(f"hangs: it accepted no message for {STUCK_SECONDS} s") from None
        except OSError:
            raise self._end_error() from None

    def _receive(self, expected: Kind, limit: Callable[[], float]) -> bytes:
        return self._receive_one_of((expected,), limit)[1]

    def _receive_one_of(self, expected: Sequence[Kind], limit: Callable[[], float]) -> tuple[Kind, bytes]:
        # Counted in pieces: if the whole job stood still, one piece at most counts.
        waited = 0.0
        try:
            while not self._connection.poll(POLL_SECONDS):
                if (waited := waited + POLL_SECONDS) > limit():
                    raise self.lost(f"hangs: no reply for {waited:.0f} s")
            kind, body = receive(self._connection)
        except BlockingIOError:
            raise self.lost(f"hangs: its message did not end for {STUCK_SECONDS} s") from None
        except (EOFError, OSError):
            raise self._end_error() from None
        except ValueError as error:
            raise self.lost(f"sent no message: {error}") from None
        if kind is Kind.ERROR:
            raise self._reported_error(body)
        if kind not in expected:
            raise self.lost(f"sent {kind.name} instead of {' or '.join(k.name for k in expected)}")
        return kind, body

    def _reported_error(self, body: bytes) -> EngineLost | EngineRefused:
        error = json.loads(body)
        lost = self.lost(error["message"])
        return EngineRefused(error["message"]) if error["is_final"] else lost

    def _end_error(self) -> EngineLost | EngineRefused:
        """Return why the process ended: its own message, if it left any."""
        with contextlib.suppress(EOFError, OSError, ValueError):
            while self._connection.poll():
                kind, body = receive(self._connection)
                if kind is Kind.ERROR:
                    return self._reported_error(body)
        return self.lost(self._exit_reason())

    def _exit_reason(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=POLL_SECONDS)
            return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return "closed its connection"
