"""Answers for the viewer, written through ingest: a few models that answered the same rows."""

from __future__ import annotations

from django.urls import reverse

from runs.models import Experiment, Run
from tests.runs.full_runs import make_run, record
from workers.records import Response


def make_response(row: int, text: str, reward: float, cost: float | None, step: int = 500, **fields) -> Response:
    """Return an answer to a row of a data set. The first two rows have the same text."""
    parts = {} if cost is None else {"cost": cost}
    prompt = f"Request {max(row, 1)}?"
    about = {"tokens": 30, "prompt": prompt, "target": "", "sample": 0, "prompt_id": str(row), "parts": parts}
    about = {**about, **fields}
    return Response(step=step, split="eval", text=text, reward=reward, **about)


def model(experiment: Experiment, name: str, answers: list[Response], seed: int = 0) -> Run:
    """Create an ended run with these answers."""
    run = make_run(experiment, "es-tiny", seed, "succeeded")
    Run.objects.filter(pk=run.pk).update(name=name)
    record(run, answers)
    run.name = name
    return run


def address(*columns: Run | str, route: str = "viewer", **query) -> str:
    """Return the viewer's address with these columns."""
    words = [column if isinstance(column, str) else column.uid for column in columns]
    pairs = [*(f"run={word}" for word in words), *(f"{name}={value}" for name, value in query.items())]
    return f"{reverse(route)}?{'&'.join(pairs)}"
