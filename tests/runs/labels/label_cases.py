"""Runs with responses to label, sets of them, and readers."""

from __future__ import annotations

from django.contrib.auth.models import User

from runs.labels.commands import Decision, create_set, save_label
from runs.labels.draw import Drawing
from runs.models import Experiment, Label, LabelItem, LabelSet, Run
from tests.runs.full_runs import make_run, record
from workers.records import Response


def make_response(prompt: str, text: str, step: int = 5, sample: int = 0, split: str = "eval") -> Response:
    return Response(
        step=step, split=split, prompt_id=prompt, sample=sample, text=text, tokens=3, reward=-1.0, prompt=f"{prompt}?",
        target="secret target",
    )  # fmt: skip


def make_run_of(experiment: Experiment, name: str, responses: list[Response], seed: int = 0) -> Run:
    """Create an ended run with these responses."""
    run = make_run(experiment, "es-micro", seed, "succeeded")
    Run.objects.filter(pk=run.pk).update(name=name)
    run.name = name
    record(run, responses)
    return run


def make_set(
    experiment: Experiment, texts: tuple[str, ...] = ("Paris", "Rome", "", "Oslo"), readers: int = 2
) -> LabelSet:
    """Create a set of one run's responses, each to a question of its own."""
    run = make_run_of(experiment, "es of labels", [make_response(f"q{n}", text) for n, text in enumerate(texts)])
    drawing = Drawing((run.uid,), "all", "eval", 100)
    return create_set(experiment, experiment.owner, "Gold", [run], drawing, 7, readers)


def items_of(label_set: LabelSet) -> list[LabelItem]:
    """Return the responses of a set by their questions."""
    return list(label_set.items.select_related("label_set").order_by("question"))


def label(item: LabelItem, reader: User, verdict: str, *kinds: str, note: str = "") -> Label:
    return save_label(item, reader, Decision(verdict, kinds, note))
