"""Writers that push what they have to a site, with replays and leaps ahead, and go on after whatever goes wrong."""

from __future__ import annotations

import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.flows.pushed_points import RECORDS, columns, lines
from tests.waiting import PATIENCE_SECONDS

REPLAYS, LEAPS = 0.3, 0.05
"""Sent beside each batch that is new: so many known ones, and so many that leave records out."""
AWAY_SECONDS = 0.2


@dataclass(frozen=True)
class File:
    """What is pushed to one attempt: batches of which the first `batches` are all that there is."""

    number: int
    key: str
    token: str
    batches: int


@dataclass
class Story:
    """What all writers met, counted by the answer's status or the error's name; and how far each file is."""

    met: Counter[str] = field(default_factory=Counter)
    sent: dict[int, int] = field(default_factory=dict)

    @property
    def progress(self) -> int:
        """Batches that the server says it has."""
        return sum(self.sent.values())


class Writer:
    """One of a file's writers. It knows how far the file is only by what it is answered."""

    def __init__(self, port: int, file: File, story: Story, seed: int) -> None:
        self.port, self.file, self.story = port, file, story
        self.chance = random.Random(seed)
        self.body = lines if seed % 4 == 0 else columns
        self.at, self.answered_at = 0, time.monotonic()
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def write(self) -> None:
        """Return once all of the file is in. Raise TimeoutError where the server takes nothing for too long."""
        while self.at < self.file.batches:
            if time.monotonic() > self.answered_at + PATIENCE_SECONDS:
                raise TimeoutError(f"{self.file} is only at {self.at}")
            try:
                self._push(self._choose())
            except (OSError, http.client.HTTPException) as error:
                self.story.met[type(error).__name__] += 1
                self.connection.close()
                time.sleep(AWAY_SECONDS)  # noqa: TID251  (a writer's own pause: others write meanwhile)
        self.connection.close()

    def _choose(self) -> int:
        """The number of a batch."""
        drawn = self.chance.random() * (1 + REPLAYS + LEAPS)
        if drawn < REPLAYS and self.at:
            return self.chance.randrange(self.at)
        if drawn < REPLAYS + LEAPS:
            return min(self.at + self.chance.randint(1, 3), self.file.batches - 1)
        return self.at

    def _push(self, batch: int) -> None:
        body = self.body(self.file.number, batch)
        kind = "application/jsonl" if self.body is lines else "application/json"
        headers = {"Authorization": f"Bearer {self.file.token}", "Content-Type": kind}
        self.connection.request("POST", f"/api/v1/attempts/{self.file.key}/records", body, headers)
        answer = self.connection.getresponse()
        said = answer.read()
        self.story.met[str(answer.status)] += 1
        if answer.status in (200, 409):
            self.answered_at = time.monotonic()
        self._heed(answer, json.loads(said) if answer.status in (200, 409) else said)

    def _heed(self, answer: http.client.HTTPResponse, said: Any) -> None:
        if answer.status == 200:
            self.at = said["next_seq"] // RECORDS
        elif answer.status == 409:
            self.at = said["expected"] // RECORDS
        elif answer.status == 429:
            time.sleep(float(answer.headers["Retry-After"]))  # noqa: TID251  (as the server tells a writer to)
        elif answer.status >= 500:
            time.sleep(AWAY_SECONDS)  # noqa: TID251  (a writer's own pause: others write meanwhile)
        else:
            raise AssertionError(f"{answer.status} {said!r}")
        self.story.sent[self.file.number] = max(self.at, self.story.sent.get(self.file.number, 0))


def start(
    threads: ThreadPoolExecutor, port: int, files: Sequence[File], story: Story, first_seed: int
) -> list[Future[None]]:
    """All writers at once; a file that stands there several times has as many writers."""
    writers = [Writer(port, file, story, seed) for seed, file in enumerate(files, first_seed)]
    return [threads.submit(writer.write) for writer in writers]
