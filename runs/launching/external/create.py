"""Create external runs, and the attempts of their later starts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from ninja.errors import HttpError

from runs import access
from runs.http import Caller, check_owner, get_experiment
from runs.launching.external.limits import (
    MAX_CONFIG_BYTES,
    MAX_DETAIL_BYTES,
    join_tags,
    merge_within,
    note_problems,
)
from runs.launching.external.schemas import Heartbeat, NewExternalRun
from runs.launching.request import get_or_create_experiment
from runs.launching.transitions import publish, transition, update_facts
from runs.models import ApiToken, Attempt, Experiment, ExternalRun, Origin, Run, key_of
from runs.models.attempt import RESTORED_REASON
from workers.config import Problem
from workers.executors.states import State
from workers.records.times import describe_bad_time, is_time, to_datetime

EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
UNKNOWN_SEED = -1
STARTED_AGAIN = "the program was started again"
"""Reason of an attempt that ended because the next start was reported, before its own end was."""


@dataclass(frozen=True)
class Start:
    """One start of a program: its attempt, a new token to write the attempt's records, and what exceeds a limit."""

    attempt: Attempt
    token: ApiToken
    token_text: str
    problems: list[Problem]


def create_external_run(caller: Caller, new: NewExternalRun, start_id: str) -> Start:
    """Create the run and its first attempt; the next attempt of a known run; neither, if this start is known.

    An older attempt that was still running ends as interrupted. Raise HttpError or Http404 if the experiment or the id
    belongs to another run or user or is in the trash, or if a later start of the run still runs. What exceeds a limit
    is left out, and named in an event of the attempt.
    """
    person = caller.person
    with transaction.atomic():
        # A user's runs are created one at a time, so that repeated calls create each experiment, run and start once.
        User.objects.select_for_update().get(pk=person.pk)
        experiment = None if new.experiment is None else _own_experiment(caller, new.experiment)
        external = _find(person, new.id) if new.id else _find_unnamed(person, start_id)
        if external is None:
            experiment = experiment or get_or_create_experiment(person, new.project or "")
            external, problems = _create(person, new, experiment)
        else:
            problems = _update(external, new)
        problems += time_problems("started_at", new.started_at)
        attempt = _get_or_create_attempt(external, new, start_id)
        note_problems(attempt, problems)
        ApiToken.objects.filter(run=external.run, name=attempt.key, expires_at__lt=timezone.now()).delete()
        token, text = access.issue(person, "ingest", name=attempt.key, run=external.run)
    return Start(attempt, token, text, problems)


def bounded_time(seconds: float | None, earliest: datetime, now: datetime) -> datetime:
    """Return the reported time, between `earliest` and now; now if it is unknown, no time in Unix seconds, or before
    `EARLIEST`.

    The sender's clock may be wrong, and must not create a time that has not come yet."""
    time = None if seconds is None else to_datetime(seconds)
    if time is None or time < EARLIEST or time >= now:
        return now
    return max(time, min(earliest, now))


def time_problems(name: str, seconds: float | None) -> list[Problem]:
    """Return a problem if the reported time is no time in Unix seconds, with the likely unit."""
    if seconds is None or is_time(seconds):
        return []
    return [Problem(name, f"{describe_bad_time(seconds)}: the time of this report is stored instead")]


def merge_news(external: ExternalRun, news: Heartbeat) -> list[Problem]:
    """Store what a program reports about its run, as far as it fits. Return a problem for each limit exceeded."""
    run = external.run
    changed: dict[str, Any] = {}
    problems: list[Problem] = []
    if news.config:
        changed["config"], problems = merge_within("config", _object(run.config), news.config, MAX_CONFIG_BYTES)
    if news.tags:
        changed["tags"], refused = join_tags(run.tags, news.tags)
        problems += refused
    changed |= {name: value for name in ("name", "note") if (value := getattr(news, name))}
    _save(run, changed)
    return problems + merge_summary(external, news.summary)


def merge_summary(external: ExternalRun, summary: dict[str, Any]) -> list[Problem]:
    """Merge the program's results over the former ones, as far as they fit. Return a problem if they do not."""
    if not summary:
        return []
    stored, problems = merge_within("summary", _object(external.summary), summary, MAX_DETAIL_BYTES)
    _save(external, {"summary": stored})
    return problems


def _own_experiment(caller: Caller, pk: int) -> Experiment:
    experiment = get_experiment(caller, pk)
    check_owner(caller, experiment)
    return experiment


def _find_unnamed(person: User, start_id: str) -> ExternalRun | None:
    """Return the user's external run without an id of its own that has this start, locked; None if there is none."""
    starts = ExternalRun.objects.select_for_update(of=("self",)).select_related("run__experiment")
    unnamed = starts.filter(owner=person, client_id="", run__deleted_at=None, run__experiment__deleted_at=None)
    return unnamed.filter(run__attempts__native_id=start_id).first() if start_id else None


def _find(person: User, client_id: str) -> ExternalRun | None:
    """Return the user's external run with this client id or uid, locked; None if there is none.

    Raise HttpError if it is in the trash or no longer visible, or if the id is the uid of a visible run that is not an
    external one of this user. Runs of others that the user may not see do not exist for them.
    """
    own = ExternalRun.objects.select_for_update(of=("self",)).select_related("run__experiment").filter(owner=person)
    external = own.filter(client_id=client_id).first() or own.filter(run__uid=client_id).first()
    if external is None:
        if Run.objects.visible_to(person).filter(uid=client_id).exists():
            raise HttpError(
                403, f"Run {client_id} is not an external run of yours, so it cannot be continued; choose another id"
            )
        return None
    run = external.run
    if run.deleted_at is not None or run.experiment.deleted_at is not None:
        trashed = f"run {run.uid}" if run.deleted_at is not None else f"experiment {run.experiment_id}"
        raise HttpError(
            409,
            f"The run with id {client_id} is in the trash. Restore {trashed} on the page Trash, or choose another id",
        )
    if not Run.objects.visible_to(person).filter(pk=run.pk).exists():
        raise HttpError(
            403, f"The run with id {client_id} is in an experiment that you may no longer see; choose another id"
        )
    return external


def _create(person: User, new: NewExternalRun, experiment: Experiment) -> tuple[ExternalRun, list[Problem]]:
    config, problems = merge_within("config", {}, new.config, MAX_CONFIG_BYTES)
    run = Run(
        experiment=experiment, method=new.method, seed=_seed(new), config=config, preset=new.group, tags=new.tags,
        note=new.note, created_by=person, state=State.RUNNING.value,
    )  # fmt: skip
    run.name = new.name or new.id or run.uid
    run.save()
    external = ExternalRun.objects.create(
        run=run, owner=person, client_id=new.id, program=new.program, host=new.host, command=new.command, git=new.git,
        lost_after_seconds=new.lost_after_seconds,
    )  # fmt: skip
    return external, problems


def _seed(new: NewExternalRun) -> int:
    if new.seed is not None:
        return new.seed
    seed = new.config.get("seed")
    is_seed = isinstance(seed, int) and not isinstance(seed, bool) and -(2**63) <= seed < 2**63
    return seed if is_seed and seed is not None else UNKNOWN_SEED


def _update(external: ExternalRun, new: NewExternalRun) -> list[Problem]:
    """Store what this start states about a known run, over what former starts have stated, as far as it fits."""
    problems = merge_news(external, Heartbeat(config=new.config, name=new.name, tags=new.tags, note=new.note))
    run_fields: dict[str, Any] = {}
    if "method" in new.model_fields_set:
        run_fields["method"] = new.method
    if (seed := _seed(new)) != UNKNOWN_SEED:
        run_fields["seed"] = seed
    if new.group:
        run_fields["preset"] = new.group
    _save(external.run, run_fields)
    facts = {name: value for name in ("program", "host", "command", "git") if (value := getattr(new, name))}
    if "lost_after_seconds" in new.model_fields_set:
        facts["lost_after_seconds"] = new.lost_after_seconds
    _save(external, facts)
    return problems


def _get_or_create_attempt(external: ExternalRun, new: NewExternalRun, start_id: str) -> Attempt:
    run, now = external.run, timezone.now()
    if start_id and (known := run.attempts.select_related("run").filter(native_id=start_id).first()) is not None:
        note_contact(known, now)
        return known
    for older in run.attempts.open().select_related("run"):
        _refuse_earlier_start(older, new)
        transition(older, State.INTERRUPTED, STARTED_AGAIN)
    newest = run.newest_attempt()
    n = 1 if newest is None else newest.n + 1
    attempt = Attempt.objects.create(
        run=run, n=n, key=key_of(run, n), cluster=None, origin=Origin.EXTERNAL, state=State.RUNNING, native_id=start_id,
        started_at=bounded_time(new.started_at, EARLIEST, now), heartbeat_seen_at=now, drained_at=now,
    )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(state=State.RUNNING.value)
    run.state = State.RUNNING.value
    attempt.note(_describe_start(new), after=State.RUNNING)
    publish(attempt)
    return attempt


def _refuse_earlier_start(running: Attempt, new: NewExternalRun) -> None:
    """Raise HttpError if the start is of an earlier program than the attempt that runs: its records came late."""
    began, starts = running.started_at, None if new.started_at is None else to_datetime(new.started_at)
    if starts is not None and began is not None and starts < began:
        raise HttpError(
            409,
            f"Attempt {running.key} of this run started later and still runs; report the earlier start after its end",
        )


def _describe_start(new: NewExternalRun) -> str:
    return " ".join(
        [
            "started elsewhere",
            *([f"on {new.host}"] if new.host else []),
            *([f"by {new.program}"] if new.program else []),
        ]
    )


def is_presumed(attempt: Attempt) -> bool:
    """Return whether the attempt ended because of what this site knew of it, and not by a report of its own end: it was
    silent, its program was started again, or the site was restored while it ran."""
    return attempt.state == State.LOST.value or attempt.reason in (STARTED_AGAIN, RESTORED_REASON)


def note_contact(attempt: Attempt, now: datetime) -> None:
    """Store that the program was heard now. An attempt whose end was only presumed runs again, if it is the newest.

    Call this with the external run locked.
    """
    if is_presumed(attempt) and attempt.sets_run_state:
        transition(attempt, State.RUNNING, "the program was heard again", ended_at=None, heartbeat_seen_at=now)
    else:
        update_facts(attempt, heartbeat_seen_at=now)


def _save(row: Run | ExternalRun, fields: dict[str, Any]) -> None:
    changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
    if changed:
        for name, value in changed.items():
            setattr(row, name, value)
        row.save(update_fields=list(changed))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
