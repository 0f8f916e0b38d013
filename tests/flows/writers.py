"""Writers that push batches to a site, with replays and leaps ahead, and continue after every failure."""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.supervisor import ROOT, Supervisor
from tests.flows.pushed_points import RECORDS, make_columns, make_lines
from tests.waiting import PATIENCE_SECONDS

ALONE, TOGETHER = 48, 16
"""Numbers of writers with a file of their own, and of writers of one shared file."""
REPLAYS, LEAPS = 0.3, 0.05
"""Shares of requests, per new batch, that repeat a stored batch, and that leave records out."""
AWAY_SECONDS = 0.2


@dataclass(frozen=True)
class File:
    """The batches that are pushed to one attempt, numbers 0 to `batches` - 1."""

    number: int
    key: str
    token: str
    batches: int


@dataclass
class WriteProgress:
    """Outcomes of all writers' requests, by status or by the error's name, and the stored batches of each file."""

    outcomes: Counter[str] = field(default_factory=Counter)
    batches_by_file: dict[int, int] = field(default_factory=dict)
    stop_requested: threading.Event = field(default_factory=threading.Event)

    @property
    def stored_batches(self) -> int:
        """Return the number of batches that the server reports as stored."""
        return sum(self.batches_by_file.values())


class Writer:
    """One of a file's writers. It knows the file's stored position only from the server's responses."""

    def __init__(self, port: int, file: File, progress: WriteProgress, seed: int) -> None:
        self.port, self.file, self.progress = port, file, progress
        self.rng = random.Random(seed)
        self.body = make_lines if seed % 4 == 0 else make_columns
        self.next_batch, self.answered_at = 0, time.monotonic()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def write(self) -> None:
        """Push until the whole file is stored, or a stop is requested.

        Raise TimeoutError if the server accepts nothing for too long.
        """
        while self.next_batch < self.file.batches and not self.progress.stop_requested.is_set():
            if time.monotonic() > self.answered_at + PATIENCE_SECONDS:
                raise TimeoutError(f"{self.file} is only at {self.next_batch}")
            try:
                self._push(self._choose_batch())
            except (OSError, http.client.HTTPException) as error:
                self.progress.outcomes[type(error).__name__] += 1
                self.connection.close()
                time.sleep(AWAY_SECONDS)  # noqa: TID251  (a writer's own pause: others write meanwhile)
        self.connection.close()

    def _choose_batch(self) -> int:
        """Return the number of the batch to send."""
        draw = self.rng.random() * (1 + REPLAYS + LEAPS)
        if draw < REPLAYS and self.next_batch:
            return self.rng.randrange(self.next_batch)
        if draw < REPLAYS + LEAPS:
            return min(self.next_batch + self.rng.randint(1, 3), self.file.batches - 1)
        return self.next_batch

    def _push(self, batch: int) -> None:
        body = self.body(self.file.number, batch)
        kind = "application/jsonl" if self.body is make_lines else "application/json"
        headers = {"Authorization": f"Bearer {self.file.token}", "Content-Type": kind}
        self.connection.request("POST", f"/api/v1/attempts/{self.file.key}/records", body, headers)
        response = self.connection.getresponse()
        content = response.read()
        self.progress.outcomes[str(response.status)] += 1
        if response.status in (200, 409):
            self.answered_at = time.monotonic()
        self._update_position(response, json.loads(content) if response.status in (200, 409) else content)

    def _update_position(self, response: http.client.HTTPResponse, content: Any) -> None:
        if response.status == 200:
            self.next_batch = content["next_seq"] // RECORDS
        elif response.status == 409:
            self.next_batch = content["expected"] // RECORDS
        elif response.status == 429:
            time.sleep(float(response.headers["Retry-After"]))  # noqa: TID251  (the delay in the server's Retry-After)
        elif response.status >= 500:
            time.sleep(AWAY_SECONDS)  # noqa: TID251  (a writer's own pause: others write meanwhile)
        else:
            raise AssertionError(f"{response.status} {content!r}")
        self.progress.batches_by_file[self.file.number] = max(
            self.next_batch, self.progress.batches_by_file.get(self.file.number, 0)
        )


def start_writers(
    threads: ThreadPoolExecutor, port: int, files: Sequence[File], progress: WriteProgress, first_seed: int
) -> list[Future[None]]:
    """Start all writers of the files of `make_files`."""
    assigned_files = [*files[:ALONE], *[files[ALONE]] * TOGETHER]
    writers = [Writer(port, file, progress, seed) for seed, file in enumerate(assigned_files, first_seed)]
    return [threads.submit(writer.write) for writer in writers]


def make_files(supervisor: Supervisor, first: int, batches: int) -> list[File]:
    """Return a file for each single writer, and last the shared file; they are numbered from `first` on."""
    runs = run_writer_site(supervisor, "make", str(ALONE + 1))
    return [File(number, key, token, batches) for number, (key, token) in enumerate(runs, first)]


def run_writer_site(supervisor: Supervisor, *arguments: str) -> Any:
    """Run `tests.flows.writer_site` on the site's data and return the JSON that it prints."""
    env = supervisor.env | {"ESWEB_DATA": str(supervisor.data), "DJANGO_SETTINGS_MODULE": "esweb.settings"}
    argv = [sys.executable, "-m", "tests.flows.writer_site", *arguments]
    result = subprocess.run(argv, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(result.stdout)
