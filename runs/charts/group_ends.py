"""Read the last values of groups of runs for tables, by the rule of `workers.analysis.last_values` that charts use too.

The summary of a series holds its own last value. Points are read only for groups whose runs end at different steps, or
end without a finite value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs import metrics
from runs.charts.groups import line
from runs.models import Run
from workers.analysis.last_values import last_values


@dataclass(frozen=True)
class GroupEnd:
    """The last values of a group. step: the last step at which all of its runs have a finite value, None if there is
    none. values: those at the step by run id, without runs that never had a finite value. last_steps: the steps of the
    runs' own last points by run id, of those with a value."""

    step: int | None
    values: Mapping[int, float]
    last_steps: Mapping[int, int]


def read_group_ends(groups: Sequence[tuple[Sequence[int], str]]) -> list[GroupEnd]:
    """Return the last values of each group, given as the ids of its runs and the key of a series. One query, however
    many; none without groups."""
    if not groups:
        return []
    ids = dict.fromkeys(pk for members, _ in groups for pk in members)
    keys = list(dict.fromkeys(key for _, key in groups))
    curves = {(curve.run_id, curve.key): curve for curve in metrics.read([Run(pk=pk) for pk in ids], keys)}
    return [_group_end(members, key, curves) for members, key in groups]


def _group_end(members: Sequence[int], key: str, curves: Mapping[tuple[int, str], metrics.Curve]) -> GroupEnd:
    lines = {pk: line(curves[pk, key]) for pk in members if (pk, key) in curves}
    end = last_values(list(lines.values()))
    values = zip(lines, end.values.tolist(), strict=True)
    return GroupEnd(
        None if end.x is None else int(end.x),
        {} if end.x is None else {pk: value for pk, value in values if value == value},
        {pk: int(x[-1]) for pk, (x, _) in lines.items() if len(x)},
    )
