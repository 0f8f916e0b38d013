"""Looks of groups that stay the same on every page: stored when a group is first drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.db.models import Max

from runs.charts.groups import Group
from runs.models.line_style import MAX_IDENTITY, LineStyle

ATTEMPTS = 3
"""Another request may take a look at the same time: then the next free one is tried."""


def styled_groups(groups: Sequence[Group], *, may_write: bool = True) -> list[Group]:
    """Return the groups with their stored looks; one query if all have any.

    Groups that were never drawn before get the next looks of their method in their experiment, stored unless
    `may_write` is False: readers of a shared link store nothing. If two groups of a page have the same look, as those
    of two experiments may, the later gets the next that is free on this page.
    """
    styles = _styles(groups)
    for _attempt in range(ATTEMPTS if may_write else 0):
        new = [group for group in groups if group.identity and identity_of(group) not in styles]
        if not new:
            break
        _store(new)
        styles = _styles(groups)
    seen: set[tuple[str, int]] = set()
    out = []
    for group in groups:
        style = styles.get(identity_of(group))
        variant = style.variant if style else group.variant
        while (group.method, variant) in seen:
            variant += 1
        seen.add((group.method, variant))
        known = replace(group, chosen_colour=style.colour, style_id=style.pk) if style else group
        out.append(replace(known, variant=variant))
    return out


def identity_of(group: Group) -> tuple[int, str]:
    """Return the experiment of the group's first run, and the group's identity as it is stored."""
    first = min(group.runs, key=lambda run: run.pk)
    return first.experiment_id, _short(group.identity)


def _short(text: str) -> str:
    return text if len(text) <= MAX_IDENTITY else hashlib.sha256(text.encode()).hexdigest()


def _dimension(group: Group) -> str:
    return _short("&".join(part.partition("=")[0] for part in group.identity.split("&")))


def _styles(groups: Iterable[Group]) -> dict[tuple[int, str], LineStyle]:
    keys = {identity_of(group) for group in groups if group.identity}
    rows = LineStyle.objects.filter(
        experiment__in={experiment for experiment, _ in keys}, identity__in={text for _, text in keys}
    )
    return {(row.experiment_id, row.identity): row for row in rows}


def _store(groups: Sequence[Group]) -> None:
    """Store the next looks for these groups, the oldest first; leave out those that another request stores now."""
    keys = {identity_of(group): group for group in sorted(groups, key=lambda group: min(run.pk for run in group.runs))}
    taken = LineStyle.objects.filter(experiment__in={experiment for experiment, _ in keys}).order_by()
    newest = {
        (experiment, dimension, method): variant
        for experiment, dimension, method, variant in taken.values_list("experiment", "dimension", "method").annotate(
            Max("variant")
        )
    }
    rows = []
    for (experiment, identity), group in keys.items():
        own = (experiment, _dimension(group), group.method)
        newest[own] = newest.get(own, -1) + 1
        rows.append(
            LineStyle(
                experiment_id=experiment, dimension=own[1], identity=identity, method=group.method,
                variant=newest[own],
            )
        )  # fmt: skip
    LineStyle.objects.bulk_create(rows, ignore_conflicts=True)
