"""Sentences that say why a chart is empty. Only a run that has not finished may still record values."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.utils.translation import gettext, ngettext

from runs.metrics import AXIS_KEYS, TIMES
from runs.models import Run


def explain_absence(
    keys: Sequence[str], runs: Sequence[Run], recorded: Collection[tuple[int, str]], axis: str = "step"
) -> str:
    """Return why a chart of these keys of these runs shows no value.

    recorded: (run id, key) of the series that the runs have along this axis.
    """
    if any(all((run.pk, key) in recorded for key in keys) for run in runs):
        if len(keys) > 1:
            return gettext("No step has finite values of both metrics.")
        return gettext("None of the values is a finite number.")
    if any(run.is_open for run in runs):
        words = ngettext(
            "This run has no values for this chart yet.", "These runs have no values for this chart yet.", len(runs)
        )
        return words + _need_of_times(axis)
    if axis != "step":
        return no_values_along_axis(axis)
    return ngettext(
        "This run ended without values for this chart.", "These runs ended without values for this chart.", len(runs)
    )


def no_values_along_axis(axis: str) -> str:
    """Return the sentence for a metric that was recorded, but not together with positions along the x axis."""
    return gettext("There are no values along this x axis.") + _need_of_times(axis)


def _need_of_times(axis: str) -> str:
    """Return what an axis of time leaves out, as a sentence after a space; empty for other axes."""
    is_by_time = AXIS_KEYS.get(axis) == TIMES
    return " " + gettext("Records without a time in Unix seconds are left out.") if is_by_time else ""
