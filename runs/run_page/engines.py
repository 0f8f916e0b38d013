"""The engines that share a run's population: reports -> a table with a row for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, IntegerField, OuterRef, Subquery
from django.utils.text import get_text_list
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from runs.models import EngineReport, Population, RecordFile, Run
from runs.tables import NONE, SHARES, Badge, Cell, Code, Column, Table, share
from workers.records.times import is_time

Engine = dict[str, Any]
"""An engine as a report stores it."""
COMPARED_WITHIN = 10
"""A report shows the result of a comparison for at most this many steps after it."""
RATES_OVER = 10
"""The number of iterations over which rates are averaged."""
SHOWN_HEX = 12
"""Digits of a hash that the table shows."""


@dataclass(frozen=True)
class Agreement:
    """A sentence on the weights, and the badge in front of it."""

    tone: str
    sign: str
    word: str
    words: str


def agreement(report: EngineReport) -> Agreement:
    """Compare the weights of the report's engines with those of engine 0, which is hashed whenever others are compared.

    An engine that was given up stays at an earlier step; one that was started again may be at a later one.
    """
    engines = sorted(report.engines, key=lambda engine: engine["number"])
    compared = [engine for engine in engines if engine["compared_at"] is not None and engine["weights"]]
    if len(compared) < 2 or compared[0]["number"] != 0:
        return Agreement("idle", "○", gettext("not compared"), gettext("No weights have been compared yet."))
    step = compared[0]["compared_at"]
    at_step = [engine for engine in compared if engine["compared_at"] == step]
    behind = [engine for engine in compared if engine["compared_at"] < step]
    differing = _differing_engines(at_step, behind, lambda at: _reference(report, at))
    if differing:
        words = " ".join(_difference(numbers, at) for at, numbers in sorted(differing.items()))
        return Agreement("bad", "✕", gettext("different"), words)
    if len(at_step) < 2:
        words = gettext("After step %(step)s no engine was compared with engine 0.") % {"step": step}
        return Agreement("idle", "○", gettext("not compared"), words)
    return Agreement("good", "✓", gettext("equal"), _equality(engines, at_step, step))


def _differing_engines(
    at_step: Sequence[Engine], behind: Iterable[Engine], reference: Callable[[int], str | None]
) -> dict[int, list[int]]:
    """Return the numbers of the engines that differ from engine 0, by the step at which they were compared."""
    differing: dict[int, list[int]] = defaultdict(list)
    for engine in at_step:
        if engine["weights"] != at_step[0]["weights"]:
            differing[engine["compared_at"]].append(engine["number"])
    for engine in behind:
        if (weights := reference(engine["compared_at"])) is not None and weights != engine["weights"]:
            differing[engine["compared_at"]].append(engine["number"])
    return differing


def _reference(report: EngineReport, step: int) -> str | None:
    """Return the hash of engine 0's weights at an earlier comparison, or None if no report has it."""
    near = EngineReport.objects.filter(run_id=report.run_id, attempt_id=report.attempt_id, epoch=report.epoch)
    reports = near.filter(
        step__range=(step, step + COMPARED_WITHIN), engines__contains=[{"number": 0, "compared_at": step}]
    )
    earlier = reports.order_by("step", "seq").first()
    return None if earlier is None else next(e["weights"] for e in earlier.engines if e["number"] == 0)


def _difference(numbers: Sequence[int], step: int) -> str:
    return ngettext(
        "Engine %(engines)s's weights differ from engine 0's after step %(step)s.",
        "The weights of engines %(engines)s differ from engine 0's after step %(step)s.",
        len(numbers),
    ) % {"engines": _join_numbers(numbers), "step": step}


def _equality(engines: Sequence[Engine], equal: Sequence[Engine], step: int) -> str:
    params = {"n": len(equal), "equal": _join_numbers([engine["number"] for engine in equal]), "step": step}
    if len(equal) < len(engines):
        others = [engine["number"] for engine in engines if engine not in equal]
        return ngettext(
            "Engines %(equal)s had equal weights after step %(step)s; engine %(others)s was not compared then.",
            "Engines %(equal)s had equal weights after step %(step)s; engines %(others)s were not compared then.",
            len(others),
        ) % (params | {"others": _join_numbers(others)})
    if len(equal) == 2:
        return gettext("Both engines had equal weights after step %(step)s.") % params
    return gettext("All %(n)s engines had equal weights after step %(step)s.") % params


def _join_numbers(numbers: Sequence[int]) -> str:
    return get_text_list([str(number) for number in numbers], gettext("and"))


STATES = {
    "ready": ("good", "✓", _("ready")),
    "starting": ("busy", "●", _("starting")),
    "given_up": ("bad", "✕", _("given up")),
    "": ("idle", "○", _("not in use")),
}
"""Map of a state to tone, sign and word. An engine that the newest attempt does not have has no state."""


@dataclass(frozen=True)
class Engines:
    """The engines of a run after the newest report. Rates are over the steps after `since`, or over all of the newest
    epoch if `since` is None. `epochs`: how many starts of the training process the totals add up."""

    report: EngineReport
    since: int | None
    epochs: int
    agreement: Agreement
    table: Table
    bytes_per_member: float | None


def engines_context(run: Run) -> dict[str, Any]:
    """Return the engines of a run, or None as `engines` if it reports none."""
    last = _last_reports(run)
    if not last:
        return {"engines": None}
    newest, before = last[-1], _report_before(last[-1])
    engines = Engines(
        newest,
        before.step if before else None,
        len(last),
        agreement(newest),
        _table(last, before),
        _bytes_per_member(newest),
    )
    return {"engines": engines}


def _last_reports(run: Run) -> list[EngineReport]:
    """Return the last report of each epoch, the newest epoch last. Each takes one lookup in an index."""
    of_epoch = EngineReport.objects.filter(attempt=OuterRef("attempt"), epoch=OuterRef("epoch")).order_by("-seq")
    last = RecordFile.objects.filter(attempt__run=run).values_list(Subquery(of_epoch.values("pk")[:1]), flat=True)
    return list(EngineReport.objects.filter(pk__in=last).order_by("attempt__n", "epoch"))


def _report_before(report: EngineReport) -> EngineReport | None:
    """Return the report RATES_OVER iterations earlier, or the first of its epoch; None if it is the first itself."""
    earlier = EngineReport.objects.filter(attempt=report.attempt_id, epoch=report.epoch, seq__lt=report.seq)
    newest_first = list(earlier.order_by("-seq")[:RATES_OVER])
    return newest_first[-1] if newest_first else None


def _bytes_per_member(report: EngineReport) -> float | None:
    """Divide the bytes of an update by the members of its population; None if the population is not known."""
    populations = Population.objects.filter(
        run=report.run_id, step=report.step, attempt=report.attempt_id, epoch=report.epoch
    )
    length = Func(F("members"), function="jsonb_array_length", output_field=IntegerField())
    members = populations.order_by("-seq").values_list(length, flat=True).first()
    return report.bytes / members if members else None


def _table(last: Sequence[EngineReport], before: EngineReport | None) -> Table:
    """Return a row for each engine. Members, tokens and restarts count over the whole run. The machines have a column
    if a report names one."""
    newest, totals = last[-1], _totals(last)
    earlier = {engine["number"]: engine for engine in before.engines} if before else {}
    now = {engine["number"]: engine for engine in newest.engines}
    members = sum(total["members"] for total in totals.values())
    seconds = newest.t - before.t if before and is_time(before.t) and is_time(newest.t) else 0.0
    columns = (
        Column("engine", gettext("Engine"), str), Column("state", gettext("State"), Badge),
        Column("node", gettext("Node"), str), Column("device", gettext("Device"), str),
        Column("members", gettext("Members")), Column("tokens", gettext("Tokens")),
        Column("tokens_per_second", gettext("Tokens/s")), Column("busy", gettext("Busy"), style=SHARES),
        Column("restarts", gettext("Restarts")),
        Column("weights", gettext("Weights"), str, tint=lambda _: "weights"),
    )  # fmt: skip
    table = Table(columns, tuple(
        _row(now.get(number, {"number": number}), total, earlier.get(number, {}), members, seconds)
        for number, total in sorted(totals.items())
    ))  # fmt: skip
    has_nodes = any(engine.get("node") for engine in newest.engines)
    return table.select(*(column.key for column in columns if has_nodes or column.key != "node"))


def _totals(last: Iterable[EngineReport]) -> dict[int, dict[str, int]]:
    """Return the totals of each engine over the whole run, by its number."""
    totals: dict[int, dict[str, int]] = {}
    for engine in (engine for report in last for engine in report.engines):
        total = totals.setdefault(engine["number"], dict.fromkeys(("members", "tokens", "restarts"), 0))
        for key in total:
            total[key] += engine[key]
    return totals


def _row(
    engine: Engine, total: Mapping[str, int], before: Mapping[str, Any], members: int, seconds: float
) -> tuple[Cell, ...]:
    tone, sign, state = STATES[engine.get("state", "")]
    node, device, number = engine.get("node", ""), engine.get("device", ""), str(engine["number"])
    tokens = engine.get("tokens", 0) - before.get("tokens", 0)
    busy = engine.get("seconds", 0.0) - before.get("seconds", 0.0)
    share_of_members = share(total["members"] / members if members else None)
    return (
        number if engine["number"] else (number, Badge(gettext("training process"))),
        Badge(gettext(state), tone, sign), Code(_short_node(node), node) if node else NONE,
        Code(device) if device else NONE, (total["members"], Badge(share_of_members)), total["tokens"],
        tokens / busy if busy > 0 else None,
        min(busy / seconds, 1.0) if seconds > 0 and busy >= 0 and engine.get("state") else None,
        total["restarts"], _weights(engine.get("weights", ""), engine.get("compared_at")),
    )  # fmt: skip


def _short_node(node: str) -> str:
    """Return the node's name without its domain; an address stays whole."""
    host, _, _ = node.partition(".")
    return node if host.isdecimal() else host


def _weights(digest: str, compared_at: int | None) -> Cell:
    """Return the start of the hash, and the step after which the weights were compared."""
    if not digest:
        return NONE
    code = Code(f"{digest[:SHOWN_HEX]}…", digest)
    if compared_at is None:
        return code
    return code, Badge(gettext("after step %(compared_at)s") % {"compared_at": compared_at})
