"""Run a scorer as a run: its config names the models, its records report the address and the work done."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from workers.client.registry import Refused
from workers.config import ConfigError, Problem, RunConfig, ScorerConfig
from workers.records import Metric, RecordWriter, Status
from workers.scorer.models import BadModel, ModelOptions, ScoreModel, load
from workers.scorer.models.base import Role
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.server import NotServed, ServerSettings, serve, token_reader

EVERY_SECONDS = 10.0
COUNTED = {
    "scorer/texts": "scorer_texts_total",
    "scorer/waiting": "scorer_waiting_texts",
    "scorer/truncated": "scorer_truncated_total",
    "scorer/failed": "scorer_failed_total",
}
"""Series of the run -> what the service counts; over all labels."""


class ScorerRun:
    """A scorer with loaded models. Raise ConfigError if its models or its address cannot be used."""

    def __init__(self, config: RunConfig, records: RecordWriter) -> None:
        assert config.scorer is not None  # noqa: S101 the method implies it
        self._records, self._metrics = records, Metrics()
        self._settings = _server_settings(config.scorer)
        with _as_problems():
            token_reader(self._settings)
            self._reward = _load_model(config, config.scorer, "reward")
            self._cost = _load_model(config, config.scorer, "cost")

    def serve(self, is_ended: Callable[[], bool]) -> None:
        """Serve until stopped. Raise ConfigError if it cannot listen."""
        with _as_problems(), self._metrics_recorded():
            serve(self._settings, self._reward, self._cost, self._metrics, is_ended, self._report)

    def _report(self, text: str) -> None:
        print(text, flush=True)
        self._records.write(Status("serving", text))

    @contextlib.contextmanager
    def _metrics_recorded(self) -> Iterator[None]:
        """Record the service's metrics from time to time, and at the end."""
        end = threading.Event()
        thread = threading.Thread(target=self._record_metrics, args=(end,), name="counts", daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def _record_metrics(self, end: threading.Event) -> None:
        step, is_last = 0, False
        while not is_last:
            is_last = end.wait(EVERY_SECONDS)
            step += 1
            self._records.write(Metric(step, {name: self._sum(counted) for name, counted in COUNTED.items()}))

    def _sum(self, counted: str) -> float:
        samples = (sample for metric in self._metrics.registry.collect() for sample in metric.samples)
        return sum(sample.value for sample in samples if sample.name == counted)


def _server_settings(config: ScorerConfig) -> ServerSettings:
    limits = Limits(batch=config.batch, waiting=config.waiting)
    names = ("host", "port", "address", "token_file", "site", "site_token_file", "name", "drain_seconds")
    return ServerSettings(**{name: getattr(config, name) for name in names}, limits=limits)


def _load_model(config: RunConfig, scorer: ScorerConfig, role: Role) -> ScoreModel:
    name, label = getattr(scorer, f"{role}_model"), getattr(scorer, f"{role}_label")
    return load(ModelOptions(role, name, label, scorer.max_length, config.model.device, config.model.dtype))


@contextlib.contextmanager
def _as_problems() -> Iterator[None]:
    """Raise a ConfigError for a model or an address that cannot be used, or that the site refuses to register: the run
    then ends immediately with the reason."""
    try:
        yield
    except (BadModel, NotServed, Refused) as error:
        raise ConfigError([Problem("scorer", str(error))]) from error
