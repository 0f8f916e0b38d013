"""Read runs, their series and their attempts over the API."""

from __future__ import annotations

from typing import Literal

import orjson
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse
from ninja import P, QueryEx

from runs import metrics
from runs.compare import ran_on
from runs.http import (
    EXAMPLE_UID,
    ApiRequest,
    Id,
    Int,
    Invalid,
    Key,
    Limit,
    Shelf,
    Tag,
    Uid,
    Word,
    Words,
    needs,
    on_shelf,
    page,
    require_experiment_and_sweep,
    router,
    the_run,
    the_runs,
    unknown_choice,
)
from runs.launching import AttemptDetail, AttemptOut, AttemptsOut, EventOut, RunDetail, RunOut, RunsOut, run_detail
from runs.models import Attempt, Run, Series
from runs.responses import SeriesOut
from workers.config import Problem, presets
from workers.executors.states import State

MAX_CURVES = 2_000


@router.get(
    "/runs/{uid}/attempts", response=AttemptsOut, auth=needs("read"), tags=["attempts"], summary="List attempts"
)
def list_attempts(request: ApiRequest, uid: Uid) -> AttemptsOut:
    """The attempts of a run, oldest first: a resume and a restart make one each."""
    attempts = the_run(request.auth, uid).attempts.order_by("n")
    return AttemptsOut(items=[AttemptOut.of(attempt) for attempt in attempts])


@router.get("/attempts/{key}", response=AttemptDetail, auth=needs("read"), tags=["attempts"], summary="Read an attempt")
def read_attempt(request: ApiRequest, key: Key) -> AttemptDetail:
    """An attempt with all that happened to it."""
    visible = Attempt.objects.filter(run__in=Run.objects.visible_to(request.auth.person))
    attempt = visible.select_related("run").filter(key=key).first()
    if attempt is None:
        raise Http404(f"There is no attempt {key} that you may see")
    events = [EventOut.from_orm(event) for event in attempt.events.order_by("at", "pk")]
    (ran,) = ran_on([attempt])
    told = {**ran.told, "packages": ran.packages} if ran.told else None
    shown: AttemptDetail = AttemptDetail.of(
        attempt, run=attempt.run.uid, events=events, code=attempt.code, environment=told
    )
    return shown


Axis = Literal["step", "wall", "relative", "tokens", "samples", "gpu_seconds"]


@router.get("/runs", response=RunsOut, auth=needs("read"), tags=["runs"], summary="List runs")
def list_runs(
    request: ApiRequest,
    experiment: Id = None,
    sweep: Id = None,
    state: State | None = None,
    method: Literal["es", "grpo", "scorer", "unknown"] | None = None,
    preset: Word | None = None,
    seed: Int | None = None,
    tag: Tag | None = None,
    q: Words = "",
    shelf: Shelf = "current",
    cursor: Id = None,
    limit: Limit = 50,
) -> RunsOut:
    """Runs that you may see, newest first, with what is asked of them. Pages follow one another by `cursor`; what is
    launched meanwhile shifts nothing. An experiment or sweep that there is not is 404, a preset that there is not 422.
    A seed, a tag or words that no run has are an empty list."""
    require_experiment_and_sweep(request.auth, experiment, sweep)
    exactly = {
        "experiment_id": experiment,
        "sweep_id": sweep,
        "state": state,
        "method": method,
        "preset": preset,
        "seed": seed,
    }
    found = on_shelf(_among(request.auth.person, shelf), shelf).select_related("created_by", "parent")
    found = found.filter(**{name: value for name, value in exactly.items() if value is not None})
    if preset is not None and not found.exists():
        _check_preset(request.auth.person, preset)
    found = found.filter(*[Q(name__icontains=word) for word in q.split()], **({"tags__contains": [tag]} if tag else {}))
    items, following = page(found, cursor, limit)
    return RunsOut(items=[RunOut.of(run) for run in items], next=following)


def _check_preset(person: User, preset: str) -> None:
    """Raise Invalid for a preset that neither the site nor any run has."""
    of_runs = Run.objects.permitted_to(person).order_by("preset").values_list("preset", flat=True).distinct()
    if preset not in (known := sorted({*presets(), *of_runs})):
        raise unknown_choice("preset", known, preset)


def _among(person: User, shelf: str) -> QuerySet[Run]:
    return Run.objects.permitted_to(person) if shelf == "bin" else Run.objects.visible_to(person)


@router.get("/runs/{uid}", response=RunDetail, auth=needs("read"), tags=["runs"], summary="Read a run")
def read_run(request: ApiRequest, uid: Uid) -> RunDetail:
    """A run: its state, its attempts with the reason each waits or ended for, its config, and the newest value of every
    key."""
    return run_detail(the_run(request.auth, uid))


@router.get("/series", response=SeriesOut, auth=needs("read"), tags=["runs"], summary="Read series")
def read_series(
    request: ApiRequest,
    run: QueryEx[list[Word], P(description="uid of a run; repeat it for more", example=[EXAMPLE_UID])],
    key: QueryEx[list[Word], P(description="key such as reward/mean; repeat it for more", example=["reward/mean"])],
    x: QueryEx[Axis, P(description="relative is seconds since the run's first point, wall is Unix time")] = "step",
    px: QueryEx[int | None, P(ge=1, le=10_000, description="width of the chart; without it, every point")] = None,
) -> HttpResponse:
    """Curves of many runs and keys in one answer, along any x axis, down-sampled so that on `px` pixels their lines
    look as they do with every point (M4). NaN, Infinity and -Infinity are given as texts. A run without one of the keys
    has no curve of it. A key that none of the runs has is 422 with those that they have; while one of the runs has not
    ended, and the key may still come, it is left out.

    Example: `/api/v1/series?run=k3m9x2p7qa&key=reward/mean&key=kl&x=tokens&px=800`
    """
    if len(run) * len(key) > MAX_CURVES:
        raise Invalid(Problem("key", f"{len(run)} runs × {len(key)} keys; at most {MAX_CURVES} curves a call"))
    runs = the_runs(request.auth, run)
    _check_keys(runs, key)
    by_id, origins = {r.pk: r for r in runs}, metrics.origins_of(runs)
    curves = [_curve(by_id[c.run_id], origins[c.run_id], c) for c in metrics.read(runs, key, x=x, px=px)]
    return HttpResponse(orjson.dumps({"x": x, "curves": curves}), content_type="application/json")


def _check_keys(runs: list[Run], keys: list[str]) -> None:
    """Raise Invalid for a key that none of the runs has. What has not ended may still write it."""
    if any(run.is_open for run in runs):
        return
    rows = Series.objects.filter(run__in=runs)
    known = set(rows.filter(key__in=keys).values_list("key", flat=True))
    if missing := [key for key in keys if key not in known]:
        every = rows.exclude(key__startswith=metrics.AXES).order_by("key").values_list("key", flat=True).distinct()
        raise unknown_choice("key", list(every), missing[0])


def _curve(run: Run, origin: str, curve: metrics.Curve) -> dict[str, object]:
    measured = metrics.provenance(run.config, curve.key, origin)
    return {
        "run": run.uid,
        "key": curve.key,
        "measured": None if measured is None else measured.to_json(),
        "x": metrics.sayable(curve.x),
        "y": metrics.sayable(curve.y),
        "overwritten": curve.overwritten.tolist(),
        "points": curve.points,
        "cursor": curve.cursor,
    }
