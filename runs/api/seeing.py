"""Finds what a caller may see. What they may not see does not exist for them: 404, never 403."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from django.http import Http404
from ninja import P, PathEx
from pydantic import Field

from runs import access
from runs.api.auth import Caller
from runs.models import Attempt, Experiment, Run

Uid: TypeAlias = PathEx[str, P(pattern=r"^[2-9a-z]{10}$")]
Id: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)] | None


def the_run(caller: Caller, uid: str) -> Run:
    """The run, its experiment and maker at hand. Raises Http404."""
    runs = Run.objects.visible_to(caller.person).select_related("experiment", "created_by")
    run = runs.filter(uid=uid).first()
    if run is None:
        raise Http404(f"There is no run {uid} that you may see")
    return run


def the_runs(caller: Caller, uids: Sequence[str]) -> list[Run]:
    """Runs in the order asked. Raises Http404 naming those that are not there."""
    found = {run.uid: run for run in Run.objects.visible_to(caller.person).filter(uid__in=uids)}
    missing = [uid for uid in uids if uid not in found]
    if missing:
        raise Http404(f"There is no run {', '.join(missing)} that you may see")
    return [found[uid] for uid in dict.fromkeys(uids)]


def the_experiment(caller: Caller, pk: int) -> Experiment:
    """The experiment. Raises Http404."""
    experiment = Experiment.objects.visible_to(caller.person).filter(pk=pk).first()
    if experiment is None:
        raise Http404(f"There is no experiment {pk} that you may see")
    return experiment


def the_attempt(caller: Caller, key: str) -> Attempt:
    """An attempt to write to: for an ingest token of its own run, else of one that the person may change.

    Raises Http404.
    """
    attempts = Attempt.objects.select_related("run__experiment").filter(run__in=Run.objects.visible_to(caller.person))
    if _is_bound(caller):
        attempts = attempts.filter(run=caller.token.run)  # type: ignore[union-attr]
    attempt = attempts.filter(key=key).first()
    if attempt is None or not (_is_bound(caller) or access.may_change_run(caller.person, attempt.run)):
        raise Http404(f"There is no attempt {key} that you may write to")
    return attempt


def _is_bound(caller: Caller) -> bool:
    return caller.token is not None and caller.token.run_id is not None
