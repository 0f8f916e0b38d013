"""Whom a board's votes are from, by what they are; and whose are left out, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.settings import How
from judging.boards.verdict_filter import JUDGES, PEOPLE, Whose
from judging.boards.votes import verdicts_in
from judging.judges import left_out
from judging.models import Judge, Rubric, Tournament, Verdict

KINDS = {
    Judge.Kind.OPENAI.value: _("a model, held against people's verdicts"),
    Judge.Kind.RULES.value: _("rules, no model and no person: they see an answer's form, not whether it is right"),
    Judge.Kind.IMPORTED.value: _("imported, not calibrated here"),
}


@dataclass(frozen=True)
class Speaker:
    """A judge with what it is, or None for people, `people` of them. why: what keeps its verdicts out of the board;
    empty where nothing does."""

    judge: Judge | None
    verdicts: int
    people: int = 0
    why: str = ""

    @property
    def what(self) -> str:
        """What the judge is."""
        return "" if self.judge is None else gettext(KINDS[self.judge.kind])

    @property
    def whose(self) -> Whose:
        """What a board of their verdicts alone is asked for by."""
        return Whose(PEOPLE) if self.judge is None else Whose(JUDGES, self.judge.pk)

    def to_json(self) -> dict[str, Any]:
        """As files have it."""
        name, kind = (None, "people") if self.judge is None else (self.judge.name, self.judge.kind)
        return {"name": name, "kind": kind, "people": self.people, "verdicts": self.verdicts, "left_out": self.why}


def speakers(tournament: Tournament, rubric: Rubric, asked: How) -> list[Speaker]:
    """Of those whose verdicts are asked for, most verdicts first; who is left out comes last."""
    let_in = verdicts_in(tournament, rubric, whose=asked.whose).order_by().values_list("judge")
    by = let_in.annotate(Count("pk"), Count("voter", distinct=True))
    counted = {pk: Speaker(None, verdicts, people) for pk, verdicts, people in by}
    given = Verdict.objects.rating().filter(comparison__tournament=tournament, rubric=rubric, judge__isnull=False)
    said = dict(asked.whose.among(given).order_by().values_list("judge").annotate(Count("pk")))
    judges = Judge.objects.in_bulk(said)
    found = [counted[None]] if None in counted else []
    found += [Speaker(judges[pk], one.verdicts) for pk, one in counted.items() if pk is not None]
    others = {pk: count for pk, count in said.items() if pk not in counted}
    why = left_out([judges[pk] for pk in others], [rubric], tournament)
    out = [Speaker(judges[pk], count, why=why.get((pk, rubric.pk), "")) for pk, count in others.items()]
    return sorted(found, key=_place) + sorted(out, key=_place)


def _place(one: Speaker) -> tuple[int, str, int]:
    """Most verdicts first. Those with as many always stand in one order, or pages of them would overlap."""
    return (-one.verdicts, *(("", 0) if one.judge is None else (one.judge.name, one.judge.pk)))
