"""API of the results of a probe run."""

from __future__ import annotations

from ninja import P, QueryEx, Schema

from runs.http import (
    ApiRequest,
    AttemptNumber,
    Id,
    Number,
    Output,
    Uid,
    Word,
    get_run,
    needs,
    paginate,
    router,
    unknown_choice,
)
from runs.models import ProbeResult, Run
from runs.probes.results import newest


class ProbeValueOut(Schema):
    """A value, with its own interval `low` to `high`, and the band `null_low` to `null_high` that chance gives it; null
    where there is none. `tensor` is empty for the whole model. `x` is the position on a curve, `draw` the number of a
    random draw."""

    value: Number
    n: int
    tensor: str = ""
    other_tensor: str = ""
    low: Number | None = None
    high: Number | None = None
    null: Number | None = None
    null_low: Number | None = None
    null_high: Number | None = None
    x: Number | None = None
    draw: int | None = None


class ProbeResultOut(Output):
    """Result of a measure of a probe. `subject` and `other` are <uid>@<step>, or base for the base model; `other` is
    empty if the probe compares nothing."""

    probe: str
    measure: str
    subject: str
    other: str
    step: int
    attempt: AttemptNumber
    verdict: str
    values: list[ProbeValueOut]


class ProbeResultsOut(Schema):
    """Results in the order written. If `next` is not null there are more: send it back as `cursor`."""

    items: list[ProbeResultOut]
    next: int | None = None


@router.get("/runs/{uid}/probes", response=ProbeResultsOut, auth=needs("read"), tags=["runs"], summary="Read probes")
def read_probes(
    request: ApiRequest,
    uid: Uid,
    probe: Word | None = None,
    measure: Word | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> ProbeResultsOut:
    """Return the results of a run of method probe in the order written, optionally of one probe or measure. Of a result
    that a restart has recorded again, only the newest is returned.

    The reply is 422 with the valid choices for a probe or measure without results. While the run has not finished, the
    list is empty."""
    run = get_run(request.auth, uid)
    selected = {name: value for name, value in (("probe", probe), ("measure", measure)) if value is not None}
    _check_selected(run, selected)
    results = newest([run]).filter(**selected).select_related("attempt")
    items, following = paginate(results, cursor, limit, newest_first=False)
    return ProbeResultsOut(items=[ProbeResultOut.from_row(result) for result in items], next=following)


def _check_selected(run: Run, selected: dict[str, str]) -> None:
    """Raise Invalid for a value that none of a finished run's results has."""
    for name, value in selected.items():
        rows = ProbeResult.objects.filter(run=run)
        if not run.is_open and not rows.filter(**{name: value}).exists():
            choices = rows.order_by(name).values_list(name, flat=True).distinct()
            raise unknown_choice(name, list(choices), value)
