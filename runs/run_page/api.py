"""Read runs, their series and their attempts over the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import orjson
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from ninja import P, QueryEx

from runs import metrics
from runs.compare import load_environments
from runs.http import (
    EXAMPLE_UID,
    ApiRequest,
    Caller,
    Id,
    Int,
    Invalid,
    Key,
    Limit,
    Shelf,
    Tag,
    ThreadedStream,
    Uid,
    Word,
    Words,
    get_run,
    get_runs,
    needs,
    on_shelf,
    paginate,
    require_experiment_and_sweep,
    router,
    unknown_choice,
)
from runs.kinds import ORIGINS
from runs.launching import AttemptDetail, AttemptOut, AttemptsOut, EventOut, RunDetail, RunsOut, run_detail, runs_out
from runs.models import Attempt, Run, Series
from runs.models.experiment import RunQuerySet
from runs.responses import SeriesOut
from workers.config import Problem, presets
from workers.config.methods import METHODS
from workers.executors.states import State

MAX_CURVES = 2_000
KIND_FILTERS = {origin.slug: origin.filters for origin in ORIGINS}
METHOD_FILTERS = (*METHODS, "unknown")
"""Methods of runs that esweb launches or imports. Runs from elsewhere may have other ones."""


@router.get(
    "/runs/{uid}/attempts", response=AttemptsOut, auth=needs("read"), tags=["attempts"], summary="List attempts"
)
def list_attempts(request: ApiRequest, uid: Uid) -> AttemptsOut:
    """List the attempts of a run, oldest first. A resume or a restart creates an attempt."""
    attempts = get_run(request.auth, uid).attempts.order_by("n")
    return AttemptsOut(items=[AttemptOut.from_row(attempt) for attempt in attempts])


@router.get("/attempts/{key}", response=AttemptDetail, auth=needs("read"), tags=["attempts"], summary="Read an attempt")
def read_attempt(request: ApiRequest, key: Key) -> AttemptDetail:
    """Return an attempt with all its events."""
    attempt = get_visible_attempt(request.auth, key)
    events = [EventOut.from_orm(event) for event in attempt.events.order_by("at", "pk")]
    (environment,) = load_environments([attempt])
    environment_json = {**environment.facts, "packages": environment.packages} if environment.facts else None
    return AttemptDetail.from_row(attempt, run=attempt.run.uid, events=events, environment=environment_json)


def get_visible_attempt(caller: Caller, key: str) -> Attempt:
    """Return the attempt with its run. Raise Http404."""
    visible = Attempt.objects.filter(run__in=Run.objects.visible_to(caller.person))
    attempt = visible.select_related("run").filter(key=key).first()
    if attempt is None:
        raise Http404(f"There is no attempt {key} that you may see")
    return attempt


Axis = Literal["step", "wall", "relative", "tokens", "samples", "gpu_seconds"]


@router.get("/runs", response=RunsOut, auth=needs("read"), tags=["runs"], summary="List runs")
def list_runs(
    request: ApiRequest,
    experiment: Id = None,
    sweep: Id = None,
    state: State | None = None,
    kind: Literal["launched", "imported", "external"] | None = None,
    method: Word | None = None,
    preset: Word | None = None,
    seed: Int | None = None,
    tag: Tag | None = None,
    q: Words = "",
    shelf: Shelf = "current",
    cursor: Id = None,
    limit: Limit = 50,
) -> RunsOut:
    """List the runs that you may see, newest first, filtered by the parameters.

    Read further pages with `cursor`; runs launched meanwhile do not shift them. The reply is 404 for an unknown
    experiment or sweep, and 422 for an unknown method or preset. A seed, a tag or words that no run has give an empty
    list."""
    require_experiment_and_sweep(request.auth, experiment, sweep)
    filters = {
        "experiment_id": experiment,
        "sweep_id": sweep,
        "state": state,
        "method": method,
        "preset": preset,
        "seed": seed,
    }
    permitted = _permitted_runs(request.auth.person, shelf).with_visible_parent(request.auth.person)
    runs = on_shelf(permitted, shelf).select_related("created_by")
    runs = runs.filter(**{name: value for name, value in filters.items() if value is not None})
    if (method is not None or preset is not None) and not runs.exists():
        _check_choice(request.auth.person, "method", METHOD_FILTERS, method)
        _check_choice(request.auth.person, "preset", presets(), preset)
    runs = runs.filter(*[Q(name__icontains=word) for word in q.split()], **({"tags__contains": [tag]} if tag else {}))
    runs = runs if kind is None else runs.filter(**KIND_FILTERS[kind])
    items, following = paginate(runs, cursor, limit)
    return runs_out(items, following)


def _check_choice(person: User, name: str, site_choices: Iterable[str], value: str | None) -> None:
    """Raise Invalid for a method or preset that neither the site nor any run has."""
    run_choices = Run.objects.permitted_to(person).order_by(name).values_list(name, flat=True).distinct()
    if value is not None and value not in (valid := sorted({*site_choices, *run_choices})):
        raise unknown_choice(name, valid, value)


def _permitted_runs(person: User, shelf: str) -> RunQuerySet:
    return Run.objects.permitted_to(person) if shelf == "bin" else Run.objects.visible_to(person)


@router.get("/runs/{uid}", response=RunDetail, auth=needs("read"), tags=["runs"], summary="Read a run")
def read_run(request: ApiRequest, uid: Uid) -> RunDetail:
    """Return a run: its state, its attempts with the reasons for their states, its config, and the newest value of
    every key."""
    return run_detail(get_run(request.auth, uid))


@router.get("/series", response=SeriesOut, auth=needs("read"), tags=["runs"], summary="Read series")
def read_series(
    request: ApiRequest,
    run: QueryEx[list[Word], P(description="uid of a run; repeat it for more runs", example=[EXAMPLE_UID])],
    key: QueryEx[
        list[Word], P(description="key such as reward/mean; repeat it for more keys", example=["reward/mean"])
    ],
    x: QueryEx[Axis, P(description="relative: seconds since the run's first point; wall: Unix time")] = "step",
    px: QueryEx[int | None, P(ge=1, le=10_000, description="width in pixels; without it, all points")] = None,
) -> HttpResponseBase:
    """Return the curves of runs and keys along an x axis, down-sampled so that on `px` pixels their lines look as with
    every point (M4).

    NaN, Infinity and -Infinity are strings. A run without a key has no curve of it. The reply is 422 with the valid
    keys for a key that none of the runs has; while a run has not finished, and the key may still arrive, it is left
    out.

    Example: `/api/v1/series?run=k3m9x2p7qa&key=reward/mean&key=kl&x=tokens&px=800`
    """
    if len(run) * len(key) > MAX_CURVES:
        raise Invalid(Problem("key", f"{len(run)} runs × {len(key)} keys exceed {MAX_CURVES} curves per request"))
    runs = get_runs(request.auth, run)
    _check_keys(runs, key)
    by_id, origins = {r.pk: r for r in runs}, metrics.origins_of(runs)

    def describe(curve: metrics.Curve) -> dict[str, object]:
        run = by_id[curve.run_id]
        provenance = metrics.provenance(run.config, curve.key, origins[curve.run_id])
        measured = None if provenance is None else provenance.to_json()
        return {"run": run.uid, "key": curve.key, "measured": measured}

    head = orjson.dumps({"x": x, "curves": []})[:-2]
    sizes = metrics.sizes(runs, key)
    if metrics.needs_turns(sizes, px):
        turns = metrics.read_in_turn(runs, key, sizes, x, px)
        return ThreadedStream(metrics.json_pieces(head, turns, describe), "application/json")
    pieces = metrics.json_pieces(head, [metrics.read(runs, key, x=x, px=px)], describe)
    return HttpResponse(b"".join(pieces), content_type="application/json")


def _check_keys(runs: list[Run], keys: list[str]) -> None:
    """Raise Invalid for a key that none of the runs has. A run that has not finished may still write it, so then
    nothing is checked."""
    if any(run.is_open for run in runs):
        return
    rows = Series.objects.filter(run__in=runs)
    existing = set(rows.filter(key__in=keys).values_list("key", flat=True))
    if missing := [key for key in keys if key not in existing]:
        all_keys = rows.exclude(key__startswith=metrics.AXES).order_by("key").values_list("key", flat=True).distinct()
        raise unknown_choice("key", list(all_keys), missing[0])
