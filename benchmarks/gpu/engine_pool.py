"""Engines of vLLM in processes of their own, for benchmarks: every wait has a limit, and their output is in files."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import torch

from benchmarks.gpu.reference import with_packages
from workers.engine_nodes.links import EngineCommand
from workers.engines.es.engine_group import EngineProcess, EngineSetup
from workers.engines.es.engine_group.wire import Ids, pack_update
from workers.gpus.mps import MpsDaemon
from workers.models.decoder import Completion

START_SECONDS, REPLY_SECONDS = 300.0, 120.0
LOOK_SECONDS = 0.1
TAIL_CHARACTERS = 4000


class EnginePool:
    """Engines with one setup. `python` is their interpreter; `packages`, if any, come first in its path.

    On a GPU they share it by CUDA's Multi-Process Service, as those of a run do, if `with_mps` is set.
    """

    def __init__(
        self, count: int, setup: EngineSetup, folder: Path, python: str, packages: str | None, *, with_mps: bool
    ) -> None:
        self.count = count
        self._mps = MpsDaemon("0") if with_mps else None
        self._setup, self._folder = setup, folder
        self._python, self._packages = python, packages
        self._processes: list[EngineProcess] = []
        self._phases: Counter[str] = Counter()

    def start(self, program: str, variables: Mapping[str, Any]) -> Iterator[float]:
        """Start one engine after another, and yield the seconds that each took. Raise EngineLost or EngineRefused.

        `variables` are for the environment of `program`, as JSON.
        """
        environment = {name: json.dumps(value) for name, value in variables.items()}
        environment |= self._mps.environment if self._mps else {}
        for number in range(self.count):
            began = time.perf_counter()
            command = EngineCommand(str(self._write_interpreter(number)), program, environment)
            process = EngineProcess.here(command)
            self._processes.append(process)
            limit = threading.Timer(START_SECONDS, process.end_now)
            limit.start()
            try:
                process.start(self._setup, None)
            finally:
                limit.cancel()
            yield time.perf_counter() - began

    def send_prompts(self, prompts: Ids) -> None:
        """Set the prompts that all engines answer."""
        for process in self._processes:
            process.send_prompts(prompts)

    def answer(self, seeds: Sequence[int]) -> Iterator[list[Completion]]:
        """Yield the responses of each member as they are complete. Raise EngineLost, or TimeoutError."""
        idle: SimpleQueue[EngineProcess] = SimpleQueue()
        for process in self._processes:
            idle.put(process)

        def answer_one(seed: int) -> tuple[list[Completion], Mapping[str, float]]:
            process = idle.get()
            try:
                answers, _, phases = process.answer([seed], lambda: REPLY_SECONDS)
                return answers[0], phases
            finally:
                idle.put(process)

        with ThreadPoolExecutor(self.count) as threads:
            futures = [threads.submit(answer_one, seed) for seed in seeds]
            try:
                for future in as_completed(futures, REPLY_SECONDS * len(seeds)):
                    responses, phases = future.result()
                    self._phases.update(phases)
                    yield responses
            finally:
                threads.shutdown(wait=False, cancel_futures=True)

    def update(self, directions: Mapping[int, float]) -> float:
        """Apply an update on all engines at once. Return the seconds until the last one has it."""
        body, began = pack_update(directions, 0.0), time.perf_counter()
        with ThreadPoolExecutor(self.count) as threads:
            list(threads.map(lambda process: process.update(body, lambda: REPLY_SECONDS), self._processes))
        return time.perf_counter() - began

    def weights_hashes(self) -> list[str]:
        """Return the hash of each engine's weights."""
        with ThreadPoolExecutor(self.count) as threads:
            return list(threads.map(lambda process: process.weights_hash(lambda: REPLY_SECONDS), self._processes))

    def describe_phases(self) -> str:
        """Return the seconds of all engines in each phase."""
        return ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in self._phases.items())

    def print_logs(self) -> None:
        """Print the end of each engine's output."""
        for log in sorted(self._folder.glob("engine-*.log")):
            text = log.read_text(encoding="utf-8", errors="replace")
            print(f"--- {log.stem}\n{text[-TAIL_CHARACTERS:]}", flush=True)

    def close(self) -> None:
        """Kill the engines, and end their service."""
        for process in self._processes:
            process.kill()
        if self._mps is not None:
            self._mps.stop()

    def _write_interpreter(self, number: int) -> Path:
        """Write a program that starts the interpreter with vLLM's packages, its output in a file. Return its path."""
        script = self._folder / f"python-{number}"
        path = f"export PYTHONPATH={shlex.quote(with_packages(self._packages))}\n" if self._packages else ""
        command = f'exec {shlex.quote(self._python)} "$@" >{shlex.quote(str(self._log(number)))} 2>&1\n'
        script.write_text(f"#!/bin/sh\n{path}{command}", encoding="utf-8")
        script.chmod(0o700)
        return script

    def _log(self, number: int) -> Path:
        return self._folder / f"engine-{number}.log"


class PeakMemory:
    """The most memory of a card that was in use between enter and exit, by all processes; 0 on a CPU. `peak`: bytes."""

    def __init__(self, device: str) -> None:
        self.peak = 0
        self._device = device
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while self._device == "cuda" and not self._ended.wait(LOOK_SECONDS):
            free, total = torch.cuda.mem_get_info()
            self.peak = max(self.peak, total - free)
