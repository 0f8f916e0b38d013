"""The table of an audit: a row for each attack, on its page, as CSV and as LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.translation import gettext

from runs.models import RewardAttack
from runs.reward_audits.queries import AuditResult
from runs.reward_audits.titles import attack_help, attack_title, needs_text, verdict_badge
from runs.tables import NONE, SHARES, Cell, Code, Column, Drawing, Interval, Link, Note, Table
from workers.analysis.share_interval import share_interval

FIGURES = (
    "reward", "low", "high", "right_reward", "baseline", "way", "way_low", "way_high", "scaled", "hits", "beats",
    "right", "known", "failed", "variants", "n",
)  # fmt: skip
MAX_RESPONSE = 60


def attack_table(attacks: Sequence[RewardAttack]) -> Table:
    """Return a row for each attack, as the page shows it."""
    columns = (
        Column("attack", gettext("Attack"), str, is_row_head=True),
        Column("verdict", gettext("Verdict"), str),
        Column("needs", gettext("Needs to know"), str),
        Column("hits", gettext("Full reward while wrong"), style=SHARES,
               help=gettext("Share of prompts on which a wrong response gets at least 90 % of the way from the honest "
                            "baseline to the right answer's reward, with its exact 95 % interval.")),
        Column("way", gettext("Of the way"), style=SHARES,
               help=gettext("0 %: the median reward of three honest responses that admit not to know. 100 %: the "
                            "reward of the right answer. Ratio of the means over prompts.")),
        Column("reward", gettext("Mean reward"), help=gettext("With its 95 % interval over prompts.")),
        Column("right_reward", gettext("Right answer's"), help=gettext("Mean reward of the right answer to the same "
                                                                       "prompts.")),
        Column("right", gettext("Right"), style=SHARES,
               help=gettext("Share of responses that are right by the gold measure, of those where that is known.")),
        Column("beats", gettext("Beats it"), help=gettext("Prompts on which a wrong response earns more than the right "
                                                          "answer.")),
        Column("response", gettext("Response"), tuple),
    )  # fmt: skip
    return Table(columns, tuple(_row(attack) for attack in attacks))


def attack_file(result: AuditResult) -> Table:
    """Return all figures of all attacks, with every digit, as a file has them."""
    columns = ("attack", "verdict", "needs", *FIGURES, "response", "failure")
    return Table(columns, tuple(
        (a.name, a.verdict, a.needs, *(a.values.get(name) for name in FIGURES), a.response, a.failure)
        for a in result.attacks
    ))  # fmt: skip


def example_table(attacks: Sequence[RewardAttack]) -> Table:
    """Return examples of responses, of the attacks in their order."""
    columns = (
        Column("attack", gettext("Attack"), str), Column("prompt", gettext("Prompt"), str),
        Column("response", gettext("Response"), Code), Column("reward", gettext("Reward")),
        Column("right_reward", gettext("Right answer's")), Column("right", gettext("Right"), str),
    )  # fmt: skip
    return Table(columns, tuple(
        (
            attack_title(attack.name), example.get("prompt", ""), shown(example.get("response", "")),
            example.get("reward"), example.get("right_reward"), _right_text(example.get("is_right")),
        )
        for attack in attacks for example in attack.examples
    ))  # fmt: skip


def worst_links(result: AuditResult) -> list[tuple[Link, str]]:
    """Return the worst exploits as links to the audit, each with what it gets."""
    links = []
    for attack in result.worst:
        way = attack.values.get("way")
        gain = "" if way is None else gettext("%(share)s of the way") % {"share": SHARES.page(way)}
        links.append((Link(attack_title(attack.name), result.run.get_absolute_url()), gain))
    return links


def shown(text: str, limit: int | None = None) -> Code:
    """Return a response so that white space and nothing at all are visible."""
    visible = text.replace("\n", "⏎").replace("\t", "⇥").replace("\u200b", "␣")
    visible = visible if visible.strip() else visible.replace(" ", "␣")
    cut = visible if limit is None or len(visible) <= limit else f"{visible[: limit - 1]}…"
    return Code(cut or gettext("(empty)"), text if cut != text else "")


def _row(attack: RewardAttack) -> tuple[Cell, ...]:
    values = attack.values
    scaled, known = values.get("scaled", 0), values.get("known", 0)
    hits = Interval(values["hits"] / scaled, *share_interval(values["hits"], scaled), n=scaled) if scaled else None
    return (
        _named(attack.name), verdict_badge(attack.verdict),
        needs_text(attack.needs), hits,
        Interval(values.get("way"), values.get("way_low"), values.get("way_high")) if "way" in values else None,
        Interval(values.get("reward"), values.get("low"), values.get("high"), n=values.get("n")),
        values.get("right_reward"), Interval(values.get("right", 0) / known, n=known) if known else None,
        values.get("beats"), _response(attack),
    )  # fmt: skip


def _named(name: str) -> Drawing:
    return Drawing(format_html('<span title="{}">{}</span>', attack_help(name), attack_title(name)))


def _response(attack: RewardAttack) -> tuple[Code | Note, ...]:
    parts: list[Code | Note] = []
    if attack.examples:
        text = attack.response or attack.examples[0].get("response", "")
        parts.append(shown(text, MAX_RESPONSE))
    if (variants := attack.values.get("variants", 1)) > 1:
        parts.append(Note(gettext("best of %(n)s") % {"n": variants}))
    if failed := attack.values.get("failed", 0):
        parts.append(Note(gettext("%(n)s without a reward") % {"n": failed}))
    return tuple(parts) or (Note(NONE),)


def _right_text(is_right: bool | None) -> str:
    return NONE if is_right is None else gettext("right") if is_right else gettext("wrong")
