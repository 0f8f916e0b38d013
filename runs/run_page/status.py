"""Compute the head of a run page: the run's state, what happens next, and how recent its records are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs import checkpoints, launching
from runs.compare.run_table import steps_of
from runs.http import ago, state_words
from runs.launching import resume_refusal
from runs.launching.reconcile import unstored_end
from runs.models import Attempt, Origin, RecordFile, Run
from runs.run_page.tiles import read_tiles
from runs.run_page.time_left import seconds_left
from workers.executors.mirror import MirrorState, read_state
from workers.executors.states import State
from workers.records.times import to_datetime


def with_delivery(attempts: QuerySet[Attempt]) -> list[Attempt]:
    """Return the attempts, each with a sentence in `way` about how its records arrive.

    It is empty before the first submission, and for imported attempts.
    """
    pushed = RecordFile.objects.filter(attempt=OuterRef("pk"), offset=0, next_seq__gt=0)
    annotated: list[Attempt] = list(attempts.annotate(is_pushed=Exists(pushed)))
    for attempt in annotated:
        attempt.way = _delivery(attempt, attempt.is_pushed)  # type: ignore[attr-defined]
    return annotated


def _delivery(attempt: Attempt, is_pushed: bool) -> str:
    if attempt.origin == Origin.EXTERNAL:
        return gettext("The program reports here over HTTP.")
    if attempt.cluster is None or not attempt.submits:
        return ""
    copy = read_state(attempt.directory)
    if is_pushed:
        message = gettext("Records are pushed here over HTTP.")
    elif copy is not None:
        message = gettext("Records are copied here over SSH from {cluster}.")
    elif attempt.cluster.kind == "local":
        message = gettext("Records are read from this machine's disk.")
    else:
        message = gettext("Records are read from the disk shared with {cluster}.")
    words: list[SafeString | str] = [format_html(message, cluster=attempt.cluster.name)]
    if attempt.is_open:
        words += [_age(attempt.directory), _copy_age(copy)]
    return format_html_join(" ", "{}", ([word] for word in words if word))


def _age(directory: Path) -> SafeString | str:
    times = [file.stat().st_mtime for file in directory.glob("records.*.jsonl")]
    return format_html(gettext("The newest record arrived {when}."), when=_ago(max(times))) if times else ""


def _copy_age(copy: MirrorState | None) -> SafeString | str:
    if copy is None or copy.seen_at is None:
        return ""
    message = format_html(gettext("The cluster was last contacted {when}."), when=_ago(copy.seen_at))
    return format_html("{} {}", message, gettext("It has more records to copy.")) if copy.is_behind else message


def _ago(seconds: float) -> str:
    time = to_datetime(seconds)
    return gettext("at an unknown time") if time is None else ago(time)


@dataclass(frozen=True)
class Restart:
    """Automatic restart, due in `seconds`. `number` is its position in the budget, None if it does not count.

    `is_after_stop`: esweb was stopped, and its present start resumes the run.
    """

    seconds: int
    number: int | None
    budget: int
    is_after_stop: bool


@dataclass(frozen=True)
class Resumption:
    """Attempt that a resume would create now: its number `n`, and the step it starts from; None is the beginning.

    preview: what it would do, as the run's kind describes it; empty if that depends on the step.
    """

    n: int
    step: int | None
    preview: str


def status_context(run: Run) -> dict[str, Any]:
    """Return the template context of the run's state fragment."""
    attempts, tiles = list(run.attempts.order_by("-n")), read_tiles(run)
    newest = attempts[0] if attempts else None
    steps, step = steps_of(run), _last_step(run)
    share = _share(attempts, step, steps)
    unstored = unstored_end(newest) if newest is not None else ""
    state = State.STOPPING.value if unstored else run.state
    return {
        "used_up": _used_up(run, attempts),
        "resources": launching.resources_of(run.config, newest) if run.kind.runs_here else None,
        "attempt": newest, "step": step, "steps": steps,
        "share": share, "shows_progress": _shows_progress(run, share), "seconds": _seconds(attempts),
        "unstored": unstored, "shown_state": state,
        "seconds_left": None if unstored else seconds_left(run, newest, steps),
        "restart": _restart(run, attempts), "resumption": _resumption(run, attempts),
        "tiles": tiles,
        "in_words": " ".join([_describe(run, state, step, steps), *(tile.sentence for tile in tiles)]),
    }  # fmt: skip


def _describe(run: Run, state: str, step: int, steps: int) -> str:
    params = {"name": run.name, "state": state_words(state), "step": step, "steps": steps}
    if steps:
        return gettext("%(name)s: %(state)s, step %(step)s of %(steps)s.") % params
    return gettext("%(name)s: %(state)s, step %(step)s.") % params


def _restart(run: Run, attempts: list[Attempt]) -> Restart | None:
    due = attempts[0].restart_at if attempts else None
    if due is None:
        return None
    seconds = max(0, round((due - timezone.now()).total_seconds()))
    is_after_stop = launching.ended_with_site(attempts[0])
    is_free = is_after_stop or run.state == State.PREEMPTED
    number = None if is_free else launching.count_restarts(run) + 1
    return Restart(seconds, number, launching.restart_budget(run), is_after_stop)


def _used_up(run: Run, attempts: list[Attempt]) -> int:
    """Return the budget of restarts if the run is not restarted because it is used up; else 0."""
    allowed = launching.restart_budget(run)
    would_restart = attempts and attempts[0].restart_at is None and launching.calls_for_restart(attempts[0])
    return allowed if allowed and would_restart and launching.count_restarts(run) >= allowed else 0


def _resumption(run: Run, attempts: list[Attempt]) -> Resumption | None:
    if resume_refusal(run):
        return None
    saved = checkpoints.newest(run)
    n = attempts[0].n + 1 if attempts else 1
    preview = run.kind.resumption.preview
    return Resumption(n, saved.step if saved else None, gettext(preview) % {"n": n} if preview else "")


def _last_step(run: Run) -> int:
    return max(run.series.values_list("last_step", flat=True), default=0)


def _share(attempts: list[Attempt], step: int, steps: int) -> float:
    """Return the share that is done, 0 to 1: by steps, or by the run's own progress before its first step."""
    progress = attempts[0].progress if attempts else None
    return min(1.0, step / steps) if steps and step else progress or 0.0


def _shows_progress(run: Run, share: float) -> bool:
    """Return whether the page shows a bar of the share: of a reported run only while its program reports one."""
    return share < 1 and run.kind.has_progress and (not run.kind.is_reported or (run.is_open and share > 0))


def _seconds(attempts: list[Attempt]) -> float | None:
    """Return the seconds of all attempts together; None before the first has started."""
    now = timezone.now()
    spans = [(a.ended_at or now) - a.started_at for a in attempts if a.started_at]
    return sum(s.total_seconds() for s in spans) if spans else None
