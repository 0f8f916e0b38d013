"""Import labels from a CSV file into a set. Safe to repeat: a label that is stored already changes nothing."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from runs.access import note
from runs.labels.codebook import read_codebook
from runs.labels.commands import add_items
from runs.labels.matching import Match, ResponseMatcher
from runs.labels.readers import ReaderNames
from runs.models import Experiment, Label, LabelItem, LabelSet
from runs.models.label import MAX_ITEMS
from workers.analysis.labels import ADJUDICATED, LabelLine, LineProblem, parse_labels

MAX_UPLOAD_BYTES = 16 << 20
MAX_LINES = 20_000
MAX_LISTED = 100
"""A result lists at most this many lines of each kind, and counts all of them."""


class CannotImport(ValueError):
    """Refusal of a whole file."""


@dataclass
class ImportResult:
    """Result of an import.

    label_set: None if nothing was stored. created, replaced, known: labels that are new, that replaced an older one of
    the same reader, and that were stored already. items: responses that joined the set. unmatched: lines whose response
    the experiment lacks. problems: lines that are no valid labels. Both are complete.
    """

    label_set: LabelSet | None = None
    is_new: bool = False
    created: int = 0
    replaced: int = 0
    known: int = 0
    items: int = 0
    unmatched: list[LineProblem] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Return whether the file has no label of a response of the experiment."""
        return not (self.created or self.replaced or self.known)

    @property
    def sentence(self) -> str:
        """Return the numbers as a sentence, in English, as any report of an import."""
        parts = [f"{self.created} new labels"]
        parts += [f"{self.replaced} replaced"] if self.replaced else []
        parts += [f"{self.known} already stored"] if self.known else []
        parts += [f"{self.items} responses joined the set"] if self.items else []
        parts += [f"{len(self.unmatched)} lines match no response"] if self.unmatched else []
        parts += [f"{len(self.problems)} lines are invalid"] if self.problems else []
        return "; ".join(parts) + "."


def import_labels(experiment: Experiment, person: User, file: BinaryIO, name: str) -> ImportResult:
    """Read a file of labels into the experiment's set of this name, which is created if there is none.

    A line is matched by run, step, split, prompt and sample, else by question and response. Readers of a file are
    names, never users. Raise CannotImport if the set is archived or would be too large.
    """
    result = ImportResult()
    lines = _read_lines(file, result)
    with transaction.atomic():
        # Two imports of one file at the same time would create two sets.
        Experiment.objects.select_for_update(of=("self",)).get(pk=experiment.pk)
        label_set = experiment.label_sets.filter(name=name).order_by("archived_at", "pk").first()
        if label_set is not None and label_set.archived_at is not None:
            raise CannotImport(f"The label set {name} is archived: restore it, or import under another name")
        matches = ResponseMatcher(experiment, person, label_set).match(lines)
        _list_unmatched(lines, matches, result)
        if not matches:
            return result
        result.is_new = label_set is None
        result.label_set = label_set or LabelSet.objects.create(
            experiment=experiment, name=name, codebook=read_codebook().version, created_by=person
        )
        result.items = _join(result.label_set, matches)
        _store(result, [line for line in lines if line.line in matches], matches)
        if result.created or result.replaced or result.items:
            note(person, result.label_set, f"Imported: {result.sentence}")
    return result


def _read_lines(file: BinaryIO, result: ImportResult) -> list[LabelLine]:
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace", newline="\n")
    lines: list[LabelLine] = []
    for entry in parse_labels(text):
        if len(lines) + len(result.problems) >= MAX_LINES:
            result.problems.append(LineProblem(entry.line, f"a file has at most {MAX_LINES} labels; split it"))
            break
        if isinstance(entry, LineProblem):
            result.problems.append(entry)
        else:
            lines.append(entry)
    text.detach()
    return lines


def _list_unmatched(lines: Iterable[LabelLine], matches: Mapping[int, Match], result: ImportResult) -> None:
    for line in lines:
        if line.line not in matches:
            label = line.label
            place = f"run {label.run}, step {label.step}, prompt {label.prompt}" if label.run else "no run is named"
            message = f"no response of this experiment has this question and text ({place[:200]})"
            result.unmatched.append(LineProblem(line.line, message))


def _join(label_set: LabelSet, matches: Mapping[int, Match]) -> int:
    """Add the matched responses that the set lacks. Return their number."""
    new = {match.digest: match.response for match in matches.values() if match.response is not None}
    before = label_set.items.count()
    if before + len(new) > MAX_ITEMS:
        raise CannotImport(f"A label set has at most {MAX_ITEMS} responses: import the rest under another name")
    add_items(label_set, [pk for pk in new.values() if pk is not None])
    return label_set.items.count() - before


def _store(result: ImportResult, lines: Iterable[LabelLine], matches: Mapping[int, Match]) -> None:
    """Store the newest label of each reader and response."""
    rows = Label.objects.select_for_update(of=("self",)).filter(item__label_set=result.label_set).current()
    current_rows = list(rows.select_related("reader"))
    names = ReaderNames((row.reader.get_username() if row.reader else "", row.reader_name) for row in current_rows)
    stored = {(row.item_id, ADJUDICATED if row.is_adjudication else names.of_label(row)): row for row in current_rows}
    created, ended = list[Label](), list[int]()
    for line, reader, new in _newest_rows(result, lines, matches, names):
        current = stored.get((new.item_id, reader))
        if current is not None and (_states_same(current, new) or current.labelled_at > new.labelled_at):
            result.known += 1
        elif reader in names.users:
            message = f"{reader} labels this set with an account: give the reader of the file another name"
            result.problems.append(LineProblem(line.line, message))
        else:
            result.created += current is None
            result.replaced += current is not None
            ended += [current.pk] if current is not None else []
            new.replaces = current
            created.append(new)
    Label.objects.filter(pk__in=ended).update(is_current=False)
    Label.objects.bulk_create(created)


def _newest_rows(
    result: ImportResult, lines: Iterable[LabelLine], matches: Mapping[int, Match], names: ReaderNames
) -> Iterable[tuple[LabelLine, str, Label]]:
    """Return (line, reader, label) of each reader and response: of several, the newest."""
    items = dict(LabelItem.objects.filter(label_set=result.label_set).values_list("digest", "pk"))
    newest, now = dict[tuple[int, str], tuple[LabelLine, str, Label]](), timezone.now()
    for line in lines:
        label, item = line.label, items[matches[line.line].digest]
        new = Label(
            item_id=item, reader_name=names.imported_name(label.reader), is_adjudication=label.is_adjudication,
            verdict=label.verdict, kinds=list(label.ordered_kinds), note=label.note, codebook=label.codebook,
            labelled_at=min(label.labelled_at or now, now),
        )  # fmt: skip
        earlier = newest.get((item, label.reader))
        if earlier is None or earlier[2].labelled_at <= new.labelled_at:
            newest[item, label.reader] = line, label.reader, new
    return newest.values()


def _states_same(current: Label, new: Label) -> bool:
    return (current.verdict, current.kinds, current.note) == (new.verdict, new.kinds, new.note)
