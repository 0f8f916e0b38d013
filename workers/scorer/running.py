"""A scorer as a run: its config says what it serves, its records say that it serves, where, and how much it does."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from workers.config import ConfigError, Problem, RunConfig, ScorerConfig
from workers.records import Metric, RecordWriter, Status
from workers.scorer.models import BadModel, ScoreModel, Wanted, load
from workers.scorer.models.base import Role
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.serving import NotServed, Place, serve, tokens

EVERY_SECONDS = 10.0
COUNTED = {
    "scorer/texts": "scorer_texts_total",
    "scorer/waiting": "scorer_waiting_texts",
    "scorer/truncated": "scorer_truncated_total",
    "scorer/failed": "scorer_failed_total",
}
"""Series of the run -> what the service counts; over all labels."""


class Running:
    """One scorer, its models loaded. Raises ConfigError where they or its place cannot be had."""

    def __init__(self, config: RunConfig, records: RecordWriter) -> None:
        assert config.scorer is not None  # noqa: S101 the method says so
        self._records, self._metrics = records, Metrics()
        self._place = _place(config.scorer)
        with _as_problems():
            tokens(self._place)
            self._reward = _model(config, config.scorer, "reward")
            self._cost = _model(config, config.scorer, "cost")

    def serve(self, is_ended: Callable[[], bool]) -> None:
        """Until it is told to end. Raises ConfigError where it cannot listen."""
        with _as_problems(), self._counting():
            serve(self._place, self._reward, self._cost, self._metrics, is_ended, self._say)

    def _say(self, words: str) -> None:
        print(words, flush=True)
        self._records.write(Status("serving", words))

    @contextlib.contextmanager
    def _counting(self) -> Iterator[None]:
        """Records from time to time, and at the end, how much it has done."""
        end = threading.Event()
        thread = threading.Thread(target=self._count, args=(end,), name="counts", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def _count(self, end: threading.Event) -> None:
        step, is_last = 0, False
        while not is_last:
            is_last = end.wait(EVERY_SECONDS)
            step += 1
            self._records.write(Metric(step, {name: self._sum(counted) for name, counted in COUNTED.items()}))

    def _sum(self, counted: str) -> float:
        samples = (sample for metric in self._metrics.registry.collect() for sample in metric.samples)
        return sum(sample.value for sample in samples if sample.name == counted)


def _place(asked: ScorerConfig) -> Place:
    limits = Limits(batch=asked.batch, waiting=asked.waiting)
    names = ("host", "port", "address", "token_file", "site", "site_token_file", "name", "drain_seconds")
    return Place(**{name: getattr(asked, name) for name in names}, limits=limits)


def _model(config: RunConfig, asked: ScorerConfig, role: Role) -> ScoreModel:
    name, label = getattr(asked, f"{role}_model"), getattr(asked, f"{role}_label")
    return load(Wanted(role, name, label, asked.max_length, config.model.device, config.model.dtype))


@contextlib.contextmanager
def _as_problems() -> Iterator[None]:
    """What cannot be had is a problem of the config: the run ends at once and says so."""
    try:
        yield
    except (BadModel, NotServed) as error:
        raise ConfigError([Problem("scorer", str(error))]) from error
