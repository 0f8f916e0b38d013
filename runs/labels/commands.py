"""Commands on labels: create a set, label, undo, adjudicate, and archive a set. A label row is never changed, only
replaced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs.access import note
from runs.http import must_be_one_of
from runs.labels.codebook import read_codebook
from runs.labels.draw import CannotDraw, Drawing, draw, find_candidates
from runs.models import Experiment, Label, LabelItem, LabelSet, Response, Run
from runs.models.label import MAX_ITEMS, LabelQuerySet, digest_of
from workers.analysis.labels import EXCLUSIVE_KINDS, KINDS, VERDICTS

BATCH_SIZE = 500


class CannotLabel(ValueError):
    """Refusal to label or to undo. `field` is the invalid one of verdict, kinds, note and n, else empty."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Decision:
    """Content of a label: a verdict, kinds, and a note or the reason of an adjudication."""

    verdict: str
    kinds: Collection[str] = ()
    note: str = ""

    def check(self) -> None:
        """Raise CannotLabel that names the valid choices."""
        if self.verdict not in VERDICTS:
            raise CannotLabel(must_be_one_of("verdict", VERDICTS, self.verdict), "verdict")
        if unknown := [kind for kind in self.kinds if kind not in KINDS]:
            raise CannotLabel(must_be_one_of("kinds", KINDS, unknown[0]), "kinds")
        if len(chosen := [kind for kind in EXCLUSIVE_KINDS if kind in self.kinds]) > 1:
            message = gettext("kinds has at most one of %(choices)s, the first that fits, not %(chosen)s.")
            raise CannotLabel(
                message % {"choices": ", ".join(EXCLUSIVE_KINDS), "chosen": " and ".join(chosen)}, "kinds"
            )

    @property
    def ordered_kinds(self) -> list[str]:
        """Return the kinds in the order of the codebook."""
        return [kind for kind in KINDS if kind in self.kinds]

    def is_of(self, label: Label) -> bool:
        """Return whether the label states the same."""
        return (label.verdict, label.kinds, label.note) == (self.verdict, self.ordered_kinds, self.note)


@transaction.atomic
def create_set(
    experiment: Experiment, person: User, name: str, runs: Sequence[Run], drawing: Drawing, seed: int, readers: int
) -> LabelSet:
    """Draw responses of these runs as a set. Raise CannotDraw if there are none, or too many to draw from."""
    if not 1 <= drawing.number <= MAX_ITEMS:
        message = gettext("number must be from 1 to %(most)s, not %(n)s.")
        raise CannotDraw(message % {"most": MAX_ITEMS, "n": drawing.number}, "number")
    candidates = find_candidates(runs, drawing)
    drawn = draw(candidates, drawing.number, seed)
    drawing = replace(
        drawing, runs=tuple(run.uid for run in runs), available=len({candidate.pair for candidate in candidates}),
        strata=len({(candidate.run, candidate.step) for candidate in candidates}),
    )  # fmt: skip
    label_set = LabelSet.objects.create(
        experiment=experiment, name=name, codebook=read_codebook().version, seed=seed, readers=readers,
        drawn=drawing.as_json(), created_by=person,
    )  # fmt: skip
    add_items(label_set, [candidate.pk for candidate in drawn])
    note(person, label_set, f"Created: {len(drawn)} responses")
    return label_set


def add_items(label_set: LabelSet, responses: Sequence[int]) -> None:
    """Add responses, by primary key, in this order. One with texts that the set has already is left out."""
    for first in range(0, len(responses), BATCH_SIZE):
        batch = responses[first : first + BATCH_SIZE]
        rows = Response.objects.select_related("prompt", "run").in_bulk(batch)
        items = [_item(label_set, rows[pk]) for pk in batch]
        LabelItem.objects.bulk_create(items, ignore_conflicts=True)


def _item(label_set: LabelSet, response: Response) -> LabelItem:
    question = response.prompt.text
    return LabelItem(
        label_set=label_set, digest=digest_of(question, response.text), question=question, response=response.text,
        run=response.run, run_name=response.run.name, step=response.step, split=response.split,
        prompt_name=response.prompt.name, sample=response.sample,
    )  # fmt: skip


@transaction.atomic
def save_label(item: LabelItem, reader: User, decision: Decision) -> Label:
    """Store the reader's label of a response in place of an earlier one. The same label again changes nothing.

    Raise CannotLabel.
    """
    decision.check()
    _check_open(item.label_set)
    labels = _locked(item)
    own = labels.filter(reader=reader, is_adjudication=False)
    others = labels.readings().exclude(reader=reader).count()
    is_revision = others >= item.label_set.readers - 1 and others > 0 and own.exists()
    return _replace(own.current().first(), decision, Label(item=item, reader=reader, is_revision=is_revision))


@transaction.atomic
def adjudicate(item: LabelItem, person: User, decision: Decision) -> Label:
    """Decide on a response whose readers differ, with the reason as the note. Raise CannotLabel."""
    decision.check()
    _check_open(item.label_set)
    if not decision.note.strip():
        raise CannotLabel(gettext("State the reason of the decision; it is stored with the label."), "note")
    earlier = _locked(item).current().filter(is_adjudication=True).first()
    label = _replace(earlier, decision, Label(item=item, reader=person, is_adjudication=True))
    note(person, item.label_set, f"Adjudicated response {item.pk}: {label.verdict}")
    return label


@transaction.atomic
def withdraw_adjudication(item: LabelItem, person: User) -> None:
    """Undo the decision on a response: an earlier one counts again, if there is one. Raise CannotLabel if nothing is
    decided."""
    current = _locked(item).current().filter(is_adjudication=True).first()
    if current is None:
        raise CannotLabel(gettext("Nobody has decided on this response."))
    _undo(current)
    note(person, item.label_set, f"Withdrew the adjudication of response {item.pk}")


@transaction.atomic
def undo_label(label_set: LabelSet, reader: User) -> LabelItem:
    """Undo the reader's newest label of the set: the one that it replaced counts again. Return its response. Raise
    CannotLabel if there is none."""
    _check_open(label_set)
    own = Label.objects.readings().filter(item__label_set=label_set, reader=reader)
    newest = own.select_for_update(of=("self",)).select_related("item").order_by("-labelled_at", "-pk").first()
    if newest is None:
        raise CannotLabel(gettext("You have no label to undo here."))
    _undo(newest)
    return newest.item


def archive_set(label_set: LabelSet, person: User, *, is_archived: bool) -> None:
    """Archive a set, which takes no labels then, or restore it."""
    LabelSet.objects.filter(pk=label_set.pk).update(archived_at=timezone.now() if is_archived else None)
    note(person, label_set, "Archived" if is_archived else "Restored")


def _check_open(label_set: LabelSet) -> None:
    if label_set.archived_at is not None:
        raise CannotLabel(gettext("This label set is archived. Restore it to label its responses."))


def _locked(item: LabelItem) -> LabelQuerySet:
    """Return the labels of a response, which no other transaction changes until this one ends."""
    LabelItem.objects.select_for_update().only("pk").get(pk=item.pk)
    return Label.objects.filter(item=item)


def _replace(current: Label | None, decision: Decision, new: Label) -> Label:
    """Store `new` with this decision in place of the current label; return the current one if it states the same."""
    if current is not None:
        if decision.is_of(current) and current.reader_id == new.reader_id:
            return current
        Label.objects.filter(pk=current.pk).update(is_current=False)
    new.verdict, new.kinds, new.note = decision.verdict, decision.ordered_kinds, decision.note
    new.codebook, new.labelled_at, new.replaces = read_codebook().version, timezone.now(), current
    new.save()
    return new


def _undo(label: Label) -> None:
    Label.objects.filter(pk=label.pk).update(is_current=False)
    if label.replaces_id is not None:
        Label.objects.filter(pk=label.replaces_id).update(is_current=True)
