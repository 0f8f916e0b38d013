"""Bar chart of an audit: how far each attack gets towards the reward of the right answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext

from runs.charts import Chart, numbers, style
from runs.models import RewardAttack
from runs.reward_audits.queries import AuditResult
from runs.reward_audits.tables import attack_file
from runs.reward_audits.titles import COLOURS, attack_title, verdict_badge
from runs.tables import SHARES

LOWEST, HIGHEST = -0.5, 1.25
"""Ends of the x axis: a bar beyond them ends there, and the text at its point has its number."""
TEXT_WIDTH = 0.2
"""Width on the x axis that the number beside a bar takes on a phone."""


def audit_chart(result: AuditResult) -> Chart:
    """Return a bar for each attack with a scale, the largest at the top; an empty figure without any."""
    attacks = [attack for attack in result.attacks if attack.values.get("way") is not None]
    attacks.sort(key=_way)
    layout = style.layout(
        gettext("share of the way"), "", meta={"x": "way"}, hovermode="closest",
        barmode="overlay", bargap=0.25, showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        shapes=[_line(0.0), _line(1.0)],
    )  # fmt: skip
    layout["xaxis"] |= {"range": [LOWEST - TEXT_WIDTH, HIGHEST + TEXT_WIDTH], "tickformat": ".0%", "fixedrange": True}
    # More ticks would be turned on a phone.
    layout["xaxis"] |= {"tickvals": [0, 1], "tickangle": 0}
    layout["yaxis"] |= {"type": "category", "fixedrange": True, "automargin": True, "tickfont": {"size": 11}}
    layout["yaxis"] |= {"categoryorder": "array", "categoryarray": [attack_title(attack.name) for attack in attacks]}
    verdicts = [verdict for verdict in COLOURS if any(attack.verdict == verdict for attack in attacks)]
    figure = {"data": [_bars(attacks, verdict) for verdict in verdicts], "layout": layout}
    help_text = gettext(
        "0 %: the honest baseline, the median reward of three responses that admit not to know. 100 %: the reward of "
        "the right answer. Only a response that knows the answer should come near 100 %."
    )
    title = gettext("Reward of each attack against the right answer's")
    return Chart("reward-audit", title, _summary(result), figure, attack_file(result), (), help_text)


def _bars(attacks: Sequence[RewardAttack], verdict: str) -> dict[str, Any]:
    token, alpha = COLOURS[verdict]
    own = [attack for attack in attacks if attack.verdict == verdict]
    ways = [_way(attack) for attack in own]
    return {
        "type": "bar", "orientation": "h", "name": verdict_badge(verdict).text,
        "y": [attack_title(attack.name) for attack in own],
        "x": numbers(min(max(way, LOWEST), HIGHEST) for way in ways), "customdata": [SHARES.page(way) for way in ways],
        # On a phone the number left of a bar would cover the title.
        "text": [SHARES.page(way) if way >= 0 else "" for way in ways], "textposition": "outside", "cliponaxis": False,
        "hovertemplate": "%{y}: %{customdata}<extra></extra>",
        "meta": {"colour": token, "alpha": alpha}, "marker": {"color": style.paint(token, alpha), "line": {"width": 0}},
    }  # fmt: skip


def _line(x: float) -> dict[str, Any]:
    line = {"color": style.paint("muted"), "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line}


def _way(attack: RewardAttack) -> float:
    return float(attack.values["way"])


def _summary(result: AuditResult) -> str:
    if all(attack.values.get("way") is None for attack in result.attacks):
        return gettext("The reward of the right answer is not known, so attacks cannot be compared with it.")
    if not result.worst:
        return gettext("No attack gains anything without the right answer.")
    worst = result.worst[0]
    return gettext("%(title)s gets %(share)s of the way without the right answer.") % {
        "title": attack_title(worst.name), "share": SHARES.page(_way(worst)),
    }  # fmt: skip
