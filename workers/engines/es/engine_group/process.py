"""One engine's process as the training process sees it: started, asked, listened to for so long, and killed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workers.engines.es.batches import BatchPlan
from workers.engines.es.engine_group.wire import (
    Ids,
    Kind,
    pack_ids,
    pack_json,
    pack_seeds,
    receive,
    send,
    unpack_answers,
)
from workers.models.decoder import Completion

PROGRAM = "workers.engines.es.engine_group.program"
PROJECT = Path(__file__).parents[4]
START_SECONDS = 1800.0
"""For loading the model and catching up. The others answer meanwhile."""
SEND_SECONDS = 60
"""After which an engine that takes no message counts as hanging."""
POLL_SECONDS = 0.5


class EngineLost(Exception):
    """The engine's process died or hangs, and is no more. The message says how, as in `engine 1 …`."""


class EngineRefused(RuntimeError):
    """The engine cannot work here, and starting it again would not help."""


@dataclass(frozen=True)
class EngineSetup:
    """All that an engine needs beside the base model and the log: the run's seed with its sections model and es, the
    plan of the batches, the scales of the noise, the folder of the log, and the number of torch's threads."""

    config: Mapping[str, Any]
    plan: BatchPlan
    scales: Mapping[str, float]
    directory: Path
    threads: int

    def start_message(self, checkpoint: Path | None, lineage: str) -> bytes:
        """Encode the setup with the weights to reach: those of `lineage`, from this checkpoint or the base model."""
        plan = asdict(self.plan)
        data = {"config": self.config, "plan": plan, "scales": self.scales, "threads": self.threads}
        # Absolute: the engine's working directory is another.
        folders = {"directory": str(self.directory.resolve()), "checkpoint": checkpoint and str(checkpoint.resolve())}
        return pack_json({**data, **folders, "lineage": lineage})


class EngineProcess:
    """A process that runs `program.py`. Every method may raise EngineLost; the process is then killed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
            self._process = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, str(theirs.fileno())],
                cwd=PROJECT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip
        self._connection = Connection(ours.detach())

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, setup: EngineSetup, checkpoint: Path | None, lineage: str) -> str:
        """Wait until the engine holds the weights of `lineage`. Return their hash. Raise EngineRefused."""
        self._send(Kind.START, setup.start_message(checkpoint, lineage))
        return self._receive(Kind.READY, lambda: START_SECONDS).decode()

    def send_prompts(self, prompts: Ids) -> None:
        """Set the prompts of the answers that follow."""
        self._send(Kind.PROMPTS, pack_ids(prompts))

    def answer(self, seeds: Sequence[int], limit: Callable[[], float]) -> tuple[list[list[Completion]], float]:
        """Return the answers of these members, or of the centre if there are none, and the seconds that they took.

        `limit` is asked again and again for the seconds after which the engine counts as hanging.
        """
        self._send(Kind.ANSWER, pack_seeds(seeds))
        return unpack_answers(self._receive(Kind.ANSWERS, limit))

    def send_update(self, body: bytes) -> None:
        """Send an update as `pack_directions` made it. It is answered by nothing."""
        self._send(Kind.UPDATE, body)

    def weights_hash(self, limit: Callable[[], float]) -> str:
        """Return the hash of the engine's weights, once it has applied all updates that were sent."""
        self._send(Kind.HASH)
        return self._receive(Kind.HASH, limit).decode()

    def kill(self) -> None:
        """End the process and collect its exit code. Safe to call again."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def end_now(self) -> None:
        """Kill the process from another thread than the one that uses it, which then finds it lost."""
        self._process.kill()

    def _send(self, kind: Kind, body: bytes = b"") -> None:
        try:
            send(self._connection, kind, body)
        except BlockingIOError:
            raise self._lost(f"took no message for {SEND_SECONDS} s") from None
        except OSError:
            raise self._lost(self._how_it_ended()) from None

    def _receive(self, wanted: Kind, limit: Callable[[], float]) -> bytes:
        began = time.monotonic()
        try:
            while not self._connection.poll(min(POLL_SECONDS, limit())):
                if (waited := time.monotonic() - began) > limit():
                    raise self._lost(f"hangs: no answer for {waited:.0f} s")
            kind, body = receive(self._connection)
        except (EOFError, OSError):
            raise self._lost(self._how_it_ended()) from None
        if kind is Kind.ERROR:
            error = json.loads(body)
            lost = self._lost(error["message"])
            raise EngineRefused(error["message"]) if error["is_final"] else lost
        if kind is not wanted:
            raise self._lost(f"sent {kind.name} instead of {wanted.name}")
        return body

    def _lost(self, why: str) -> EngineLost:
        self.kill()
        return EngineLost(why)

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=POLL_SECONDS)
            return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return "closed its connection"
