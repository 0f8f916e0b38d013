"""Metrics of a scorer, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The metrics of one scorer, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "scorer_requests_total", "Requests answered.", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "scorer_request_seconds", "Time from a request to its response.", buckets=SECONDS, registry=self.registry
        )
        self.texts = Counter("scorer_texts_total", "Texts scored.", registry=self.registry)
        self.truncated = Counter(
            "scorer_truncated_total", "Texts whose beginning was cut off.", ("model",), registry=self.registry
        )
        self.failed = Counter("scorer_failed_total", "Texts that could not be scored.", registry=self.registry)
        self.waiting = Gauge("scorer_waiting_texts", "Texts not scored yet.", registry=self.registry)
        self.batch = Histogram(
            "scorer_batch_texts", "Texts in one pass through the models.", buckets=SIZES, registry=self.registry
        )
