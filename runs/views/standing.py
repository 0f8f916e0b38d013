"""How a run stands: its state and why, how far it is, and the evaluator's last word, also as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import checkpoints, launch, metrics
from runs.charts import number, share
from runs.display import state_words
from runs.metrics import Curve
from runs.models import Attempt, Run
from runs.views.runs_table import steps_of
from workers.executors.states import State

TILES = (
    ("reward", "reward/mean", _("Held-out reward")),
    ("accuracy", "accuracy/contains", _("Accuracy")),
    ("kl", "kl", _("KL, nats per token")),
)


@dataclass(frozen=True)
class Tile:
    """A number of the last evaluation and that of the first; `chart` is where it comes from."""

    chart: str
    title: str
    first: float
    last: float

    @property
    def sentence(self) -> str:
        said = share if self.chart == "accuracy" else number
        words = {"title": self.title, "last": said(self.last), "first": said(self.first)}
        return gettext("%(title)s %(last)s, from %(first)s.") % words


@dataclass(frozen=True)
class Restart:
    """The attempt that will be made by itself. `number` is its place in the budget, None where it takes nothing."""

    seconds: int
    number: int | None
    budget: int


@dataclass(frozen=True)
class Resumption:
    """What a resume would do now: attempt `n`, from a step, or from the beginning where `step` is None."""

    n: int
    step: int | None


def standing(run: Run) -> dict[str, Any]:
    """What the state fragment shows."""
    curves = {c.key: c for c in metrics.read([run], [key for _, key, _ in TILES])}
    tiles = [_tile(curves[key], chart, title) for chart, key, title in TILES if key in curves]
    attempts = list(run.attempts.order_by("-n"))
    steps, step = steps_of(run), _last_step(run)
    return {
        "used_up": _used_up(run, attempts),
        "attempt": attempts[0] if attempts else None, "tiles": tiles, "step": step, "steps": steps,
        "share": _share(attempts, step, steps), "seconds": _seconds(attempts),
        "restart": _restart(run, attempts), "resumption": _resumption(run, attempts),
        "in_words": " ".join([_in_words(run, step, steps), *(tile.sentence for tile in tiles)]),
    }  # fmt: skip


def _in_words(run: Run, step: int, steps: int) -> str:
    said = {"name": run.name, "state": state_words(run.state), "step": step, "steps": steps}
    if steps:
        return gettext("%(name)s is %(state)s, step %(step)s of %(steps)s.") % said
    return gettext("%(name)s is %(state)s, step %(step)s.") % said


def _restart(run: Run, attempts: list[Attempt]) -> Restart | None:
    due = attempts[0].restart_at if attempts else None
    if due is None:
        return None
    seconds = max(0, round((due - timezone.now()).total_seconds()))
    is_free = run.state == State.PREEMPTED
    return Restart(seconds, None if is_free else launch.restarts_made(run) + 1, launch.budget(run))


def _used_up(run: Run, attempts: list[Attempt]) -> int:
    """The budget of restarts, where it is why the run stays as it is; else 0."""
    allowed = launch.budget(run)
    would_restart = attempts and attempts[0].restart_at is None and launch.calls_for_restart(attempts[0])
    return allowed if allowed and would_restart and launch.restarts_made(run) >= allowed else 0


def _resumption(run: Run, attempts: list[Attempt]) -> Resumption | None:
    if launch.resume_refusal(run):
        return None
    saved = checkpoints.newest(run)
    return Resumption(attempts[0].n + 1 if attempts else 1, saved.step if saved else None)


def _tile(curve: Curve, chart: str, title: str) -> Tile:
    values = curve.y[~curve.overwritten]
    return Tile(chart, gettext(title), float(values[0]), float(values[-1]))


def _last_step(run: Run) -> int:
    return max(run.series.values_list("last_step", flat=True), default=0)


def _share(attempts: list[Attempt], step: int, steps: int) -> float:
    """How much is done, 0 to 1: by steps, or by what the run itself says before its first step."""
    said = attempts[0].progress if attempts else None
    return min(1.0, step / steps) if steps and step else said or 0.0


def _seconds(attempts: list[Attempt]) -> float | None:
    """Seconds of all attempts together; None before the first has started."""
    now = timezone.now()
    spans = [(a.ended_at or now) - a.started_at for a in attempts if a.started_at]
    return sum(s.total_seconds() for s in spans) if spans else None
