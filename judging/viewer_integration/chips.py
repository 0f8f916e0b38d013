"""A chip an answer and criterion: how it did against the pinned answer, and what each said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext, ngettext

from judging.models import Comparison, Judge, Verdict
from judging.stats.votes import COUNTED
from judging.viewer_integration.matches import Met
from runs.responses.viewer import Chip

COUNTING = [outcome.name.lower() for outcome in COUNTED]
LEAN = {"a": 1, "b": -1}
ROW = ("comparison__response_a", "comparison__response_b", "rubric__criterion__slug", "voter", "judge", "judge__name")
SIGNS = {1: ("▲", "good"), 0: ("=", "idle"), -1: ("▼", "bad")}


@dataclass
class _Said:
    """Of an answer by a criterion: rater -> what they said each time, 1 where it won. names: of judges."""

    leans: dict[tuple[int | None, int | None], list[int]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)


def of(stands: Met, pinned: Collection[int], others: Collection[int]) -> Mapping[int, Sequence[Chip]]:
    """Answer of `others` -> its chips, by criterion. One query."""
    if not stands.tournaments:
        return {}
    found: dict[tuple[int, str], _Said] = defaultdict(_Said)
    for a, b, slug, voter, judge, name, outcome in _rows(stands, {*pinned, *others}):
        if (a in pinned) == (b in pinned):
            continue
        said = found[b if a in pinned else a, slug]
        said.leans[voter, judge].append(LEAN.get(outcome, 0) * (-1 if a in pinned else 1))
        said.names[judge or 0] = name
    chips: dict[int, list[Chip]] = defaultdict(list)
    for (answer, slug), said in sorted(found.items()):
        chips[answer].append(_chip(slug, said))
    return chips


def _rows(stands: Met, answers: Collection[int]) -> Iterator[tuple[int, int, str, int | None, int | None, str, str]]:
    seen = Comparison.objects.filter(
        stands.open_to_them, tournament__in=stands.tournaments, response_a__in=answers, response_b__in=answers
    )
    given = Verdict.objects.comparing().filter(comparison__in=seen, outcome__in=COUNTING)
    # What a model was asked again measures the model.
    once = given.exclude(judge__kind=Judge.Kind.OPENAI, sample__gt=0)
    return once.order_by("pk").values_list(*ROW, "outcome").iterator()


def _chip(slug: str, said: _Said) -> Chip:
    labels = Counter(_label(leans) for leans in said.leans.values())
    lead = (labels[1] > labels[-1]) - (labels[1] < labels[-1])
    sign, tone = SIGNS[lead]
    return Chip(sign, f"{slug}: {_outcome(lead, labels)}", tone, tuple(_lines(said)))


def _label(leans: Sequence[int]) -> int:
    return (sum(leans) > 0) - (sum(leans) < 0)


def _outcome(lead: int, labels: Mapping[int, int]) -> str:
    """How it did against the pinned answer, by how many."""
    n = sum(labels.values())
    alone = {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[lead]
    if n == 1:
        return alone
    if lead == 0:
        return gettext("tied, %(won)s to %(lost)s") % {"won": labels[1], "lost": labels[-1]}
    words = gettext("won %(count)s of %(n)s") if lead > 0 else gettext("lost %(count)s of %(n)s")
    return words % {"count": labels[lead], "n": n}


def _lines(said: _Said) -> Iterator[str]:
    """Judges by name; people together: who said what is theirs."""
    people = Counter(_label(leans) for (voter, _), leans in said.leans.items() if voter is not None)
    if people:
        n = sum(people.values())
        told = ngettext("%(n)s person: %(won)s won, %(lost)s lost", "%(n)s people: %(won)s won, %(lost)s lost", n)
        yield told % {"n": n, "won": people[1], "lost": people[-1]}
    for (_, judge), leans in said.leans.items():
        if judge is not None:
            yield f"{said.names[judge]}: {_by_one(leans)}"


def _by_one(leans: Sequence[int]) -> str:
    if len(set(leans)) > 1:
        return gettext("not the same both ways round")
    return {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[_label(leans)]
