"""The service in the test's own process, without a socket, around models that do what a test has them do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from threading import Event

import httpx

from tests.waiting import PATIENCE_SECONDS
from workers.scorer.models import ScoreBatch
from workers.scorer.service.app import application
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.queue import ScoringQueue


@dataclass
class Lengths:
    """Scores texts by length once `may` is set. A text with "poison" fails, one with "nan" has no score."""

    name: str = "lengths"
    device: str = "cpu"
    batches: list[int] = field(default_factory=list)
    may: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self.may.set()

    def scores(self, texts: Sequence[str]) -> ScoreBatch:
        self.batches.append(len(texts))
        if not self.may.wait(PATIENCE_SECONDS):
            raise TimeoutError("the test never let the model go on")
        if any("poison" in text for text in texts):
            raise RuntimeError("no model can read this")
        return ScoreBatch([float("nan") if "nan" in text else float(len(text)) for text in texts], truncated=1)


@asynccontextmanager
async def served(model: Lengths, limits: Limits | None = None, token: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """Serve the model in this process; yield a client of the service."""
    limits, metrics = limits or Limits(), Metrics()
    with ScoringQueue(model, Lengths(), limits, metrics) as line:
        app = application(line, limits, metrics, lambda: token)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://scorer", timeout=PATIENCE_SECONDS) as client:
            yield client


def texts(*values: str) -> dict[str, list[str]]:
    """Return the body of a request."""
    return {"texts": list(values)}
