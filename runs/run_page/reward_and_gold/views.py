"""The part "Reward and gold" of a run's first tab: a sentence, the changes as a table, and two charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.charts import Chart
from runs.http import SignedIn, visible_run
from runs.models import Run
from runs.responses.outcomes import ALL, GOLD, GREEDY, REWARD, SAMPLED, SELECTIONS, Outcomes, read_outcomes
from runs.run_page.reward_and_gold.charts import CHARTS, outcome_chart
from runs.run_page.reward_and_gold.sentences import Outlook, outlook_of, points, signed
from runs.run_page.tabs import tab_fragment
from runs.tables import Cell, Column, Interval, NumberStyle, Table, number
from workers.analysis.proxy_gold import Change

SELECTION_NAMES = {ALL: _("all responses"), GREEDY: _("greedy"), SAMPLED: _("sampled")}
SHARE_TITLES = {"right": _("Right answers, points"), "safe": _("Safe responses, points")}
REWARDS = NumberStyle(page=lambda value: signed(value, number))
POINTS = NumberStyle(page=lambda value: signed(value, points))


@dataclass(frozen=True)
class Section:
    """Content of the section. `table`: the changes; None if none is known. Without charts, no response is stored."""

    outlook: Outlook
    table: Table | None
    charts: list[Chart]


def reward_and_gold_context(run: Run) -> dict[str, Any]:
    """Return the section of a run that raises a reward; `outcomes` is None for other kinds."""
    if not run.kind.optimizes_reward:
        return {"outcomes": None}
    outcomes = read_outcomes(run)
    charts = [outcome_chart(run, outcomes, name) for name in CHARTS] if outcomes.steps else []
    return {"outcomes": Section(outlook_of(outcomes), _changes(outcomes), charts)}


@require_safe
def run_reward_and_gold(request: SignedIn, uid: str) -> HttpResponse:
    """Return the sentence and the table for htmx, and the charts if `name` is charts: a page without any requests them.
    Redirect other requests to the run's first tab."""
    run = visible_run(request, uid)
    if not request.htmx:
        return redirect(f"{run.get_absolute_url()}#reward-and-gold")
    context = {**reward_and_gold_context(run), "with_charts": request.GET.get("name") == "charts"}
    return tab_fragment(request, run, "run_page/reward_and_gold/changes.html", context)


def _changes(outcomes: Outcomes) -> Table | None:
    """Return the changes since the base over all, greedy and sampled responses."""
    rows = [
        (gettext(SELECTION_NAMES[selection]), _interval(reward), _interval(gold), known.prompts, known.responses)
        for selection in (ALL, *SELECTIONS)
        for reward, gold in [(outcomes.change(REWARD, selection), outcomes.change(GOLD, selection))]
        if (known := gold or reward) is not None
    ]
    columns = (
        Column("samples", gettext("Change over"), str),
        Column("reward", gettext("Reward"), Interval, REWARDS),
        Column("gold", gettext(SHARE_TITLES[outcomes.gold]), Interval, POINTS),
        Column("prompts", gettext("Prompts")),
        Column("n", gettext("n"), help=gettext("Number of responses at the newest evaluation")),
    )
    return Table(columns, tuple(rows)) if rows else None


def _interval(change: Change | None) -> Cell:
    return None if change is None else Interval(change.mean, change.low, change.high)
