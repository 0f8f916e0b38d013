"""Tables of agreement, and the responses of a set with their labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.labels.queries import Agreement, read_names, visible_labels
from runs.labels.words import kind_title, verdict_title
from runs.models import Label, LabelItem, LabelSet
from runs.tables import COUNTS, SHARES, Absent, Cell, Column, Interval, Table
from workers.analysis.labels import VERDICTS, FinalLabel, ReaderPair
from workers.analysis.resampling import Estimate

DISPUTED, DECIDED, ALL = "disputed", "decided", "all"
SHOWN = {DISPUTED: _("undecided"), DECIDED: _("decided"), ALL: _("all labelled")}
"""Choices of the responses that the page lists."""
REASONS = {
    "n/a: both used one verdict alone": _("Both used one verdict alone."),
    "n/a: neither used it": _("Neither used it."),
    "n/a: both used it always": _("Both used it always."),
}


@dataclass(frozen=True)
class ReaderLabel:
    """A current label with the name of its reader."""

    reader: str
    label: Label


@dataclass(frozen=True)
class LabelledItem:
    """A response with the labels that the user may see: its readings, the decision and the final label."""

    item: LabelItem
    readings: Sequence[ReaderLabel]
    decision: ReaderLabel | None
    final: FinalLabel | None


def items_of(agreement: Agreement, shown: str) -> list[int]:
    """Return the responses that a choice of SHOWN lists, by primary key."""
    if shown == DISPUTED:
        return agreement.disputed
    return agreement.decided if shown == DECIDED else sorted(agreement.final)


def labelled_items(label_set: LabelSet, person: User, agreement: Agreement, keys: Sequence[int]) -> list[LabelledItem]:
    """Return these responses with their labels. Three queries."""
    names = read_names(label_set)
    labels = defaultdict[int, list[ReaderLabel]](list)
    for row in visible_labels(label_set, person).filter(item__in=keys).order_by("reader", "reader_name"):
        labels[row.item_id].append(ReaderLabel(names.of_label(row), row))
    items = LabelItem.objects.in_bulk(keys)
    return [
        LabelledItem(
            items[pk], [entry for entry in labels[pk] if not entry.label.is_adjudication],
            next((entry for entry in labels[pk] if entry.label.is_adjudication), None), agreement.final.get(pk),
        )
        for pk in keys
    ]  # fmt: skip


def readers_table(agreement: Agreement) -> Table:
    """Return the number of labels of each reader."""
    columns = (
        Column("reader", gettext("Reader"), str), Column("labels", gettext("Labels"), style=COUNTS),
        Column("left", gettext("Left"), style=COUNTS),
    )  # fmt: skip
    rows = [(entry.reader, entry.done, agreement.total - entry.done) for entry in agreement.progress]
    return Table(columns, tuple(rows))


def agreement_table(pairs: Sequence[ReaderPair]) -> Table:
    """Return the agreement on the verdict of every two readers."""
    columns = (
        Column("readers", gettext("Readers"), str), Column("n", gettext("Responses"), style=COUNTS),
        Column("questions", gettext("Questions"), style=COUNTS),
        Column("equal", gettext("Equal verdicts"), Interval, SHARES), Column("kappa", gettext("Cohen’s κ"), Interval),
    )  # fmt: skip
    rows = [(" × ".join(p.readers), p.n, p.questions, _cell(p.raw), _cell(p.kappa)) for p in pairs]
    return Table(columns, tuple(rows))


def verdict_table(pair: ReaderPair) -> Table:
    """Return the number of responses by the verdicts of both readers."""
    titles = [verdict_title(verdict) for verdict in VERDICTS]
    first, second = pair.readers
    columns = [Column(title, f"{second}: {title}", style=COUNTS) for title in titles]
    rows: list[tuple[Cell, ...]] = [
        (f"{first}: {title}", *counts) for title, counts in zip(titles, pair.table, strict=True)
    ]
    return Table((Column("verdict", gettext("Verdict"), str), *columns), tuple(rows))


def kinds_table(pair: ReaderPair) -> Table:
    """Return the agreement of two readers on each kind."""
    first, second = pair.readers
    only = gettext("Only %(reader)s")
    columns = (
        Column("kind", gettext("Kind"), str), Column("both", gettext("Both"), style=COUNTS),
        Column("first", only % {"reader": first}, style=COUNTS),
        Column("second", only % {"reader": second}, style=COUNTS), Column("kappa", gettext("Cohen’s κ"), Interval),
    )  # fmt: skip
    rows = [(kind_title(k.kind), k.both, k.only_first, k.only_second, _cell(k.kappa)) for k in pair.kinds]
    return Table(columns, tuple(rows))


def _cell(estimate: Estimate) -> Interval | Absent:
    if estimate.value is None:
        return Absent(gettext("n/a"), gettext("n/a"), gettext(REASONS.get(estimate.why, estimate.why)))
    return Interval(estimate.value, estimate.low, estimate.high)
