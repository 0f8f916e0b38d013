"""Annotate responses in the viewer with verdicts that compare them with the pinned column: flags, sorts and chips.

A rater is a voter or a judge. If a rater judged a pair several times, such as once in each order, the majority of these
verdicts counts, as in `VerdictTally`. Judges that leaderboards leave out count here too, so that users can see why.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from judging.models import Comparison, Judge, Rubric, Verdict
from judging.stats.votes import COUNTED
from judging.viewer_integration.matches import Met, met
from runs.responses.viewer import AnnotationField, Chip, Columns, Picked, Sql

COUNTING = [outcome.name.lower() for outcome in COUNTED]
LEAN = {"a": 1, "b": -1}
ROW = ("comparison__response_a", "comparison__response_b", "rubric__criterion__slug", "voter", "judge", "judge__name")
SIGNS = {1: ("▲", "good"), 0: ("=", "idle"), -1: ("▼", "bad")}
CRITERION = "criterion"
BY = """t.rubric_id IN (
    SELECT r.id FROM judging_rubric r JOIN judging_criterion c ON c.id = r.criterion_id WHERE c.slug = %s)"""
PAIRS = """
SELECT id AS comparison, response_{one}_id AS id, {way} AS way FROM judging_comparison
WHERE {one}_id = ANY(%s) AND {other}_id = ANY(%s) AND {seen}"""
SEEN = """(tournament_id <> ALL(%s)
    OR id IN (SELECT comparison_id FROM judging_turn WHERE voter_id = ANY(%s) AND ended_at IS NOT NULL))"""
TABLE = """
WITH pairs AS MATERIALIZED ({pairs}),
judged AS (
    SELECT p.id, for_a, for_b, is_swapped, people * judges < 0 AS is_against, raters::float8 AS n,
           p.way * (for_a - for_b) AS lead
    FROM pairs p JOIN judging_verdicttally t ON t.comparison_id = p.comparison
    WHERE t.comparison_id = ANY(ARRAY(SELECT comparison FROM pairs)) AND {by}
)
SELECT id, bool_or(for_a > 0 AND for_b > 0) AS is_split, bool_or(is_swapped) AS is_swapped,
       bool_or(is_against) AS is_against, min(lead) AS least, max(lead) AS most, avg((n + lead) / (2 * n)) AS won,
       max(2 * LEAST(for_a, for_b) / n) AS disagreement,
       max(sqrt((n + lead + 2) * (n - lead + 2) / (4 * (n + 2) * (n + 2) * (n + 3)))) AS uncertainty
FROM judged GROUP BY id"""


@dataclass
class _Leanings:
    """Verdicts on a response by one criterion. `names` maps a judge to its name.

    `leans` maps a rater, (voter, judge), to one number per verdict: 1 if the response won, -1 if it lost, else 0.
    """

    leans: dict[tuple[int | None, int | None], list[int]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)


def of(stands: Met, pinned: Collection[int], others: Collection[int]) -> Mapping[int, Sequence[Chip]]:
    """Return the chips of each response of `others` that has verdicts, sorted by criterion. One query."""
    if not stands.tournaments:
        return {}
    found: dict[tuple[int, str], _Leanings] = defaultdict(_Leanings)
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


def _chip(slug: str, said: _Leanings) -> Chip:
    labels = Counter(_label(leans) for leans in said.leans.values())
    lead = (labels[1] > labels[-1]) - (labels[1] < labels[-1])
    sign, tone = SIGNS[lead]
    return Chip(sign, f"{slug}: {_outcome(lead, labels)}", tone, tuple(_lines(said)))


def _label(leans: Sequence[int]) -> int:
    return (sum(leans) > 0) - (sum(leans) < 0)


def _outcome(lead: int, labels: Mapping[int, int]) -> str:
    """Describe the result against the pinned response, with the number of raters if there are several.

    `lead` is 1 if more raters prefer the response, -1 if fewer do, 0 if equal. `labels` counts raters by 1, 0 and -1.
    """
    n = sum(labels.values())
    alone = {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[lead]
    if n == 1:
        return alone
    if lead == 0:
        return gettext("tied, %(won)s to %(lost)s") % {"won": labels[1], "lost": labels[-1]}
    words = gettext("won %(count)s of %(n)s") if lead > 0 else gettext("lost %(count)s of %(n)s")
    return words % {"count": labels[lead], "n": n}


def _lines(said: _Leanings) -> Iterator[str]:
    """Yield one line for all voters together, without their names, and one line per judge, with its name."""
    people = Counter(_label(leans) for (voter, _), leans in said.leans.items() if voter is not None)
    if people:
        n = sum(people.values())
        told = ngettext("%(n)s person: %(won)s won, %(lost)s lost", "%(n)s people: %(won)s won, %(lost)s lost", n)
        yield told % {"n": n, "won": people[1], "lost": people[-1]}
    for (_voter, judge), leans in said.leans.items():
        if judge is not None:
            yield f"{said.names[judge]}: {_by_one(leans)}"


def _by_one(leans: Sequence[int]) -> str:
    if len(set(leans)) > 1:
        return gettext("not the same both ways round")
    return {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[_label(leans)]


class Judged:
    """Annotation source of the viewer for verdicts.

    `uncertainty` is the standard deviation of the share that a response wins, with a uniform prior from 0 to 1.
    """

    title = _("Judges, against the pinned answer")
    flags: Mapping[str, AnnotationField] = {
        "disagree": AnnotationField(_("judges disagree"), "{t}.is_split"),
        "reward_against": AnnotationField(
            _("reward against judges"),
            "({c}.reward > {pin}.reward AND {t}.least < 0) OR ({c}.reward < {pin}.reward AND {t}.most > 0)",
        ),
        "cost_against": AnnotationField(
            _("cost against judges"),
            "({c}.cost < {pin}.cost AND {t}.least < 0) OR ({c}.cost > {pin}.cost AND {t}.most > 0)",
        ),
        "swapped": AnnotationField(_("swapped sides change a judge's mind"), "{t}.is_swapped"),
        "people_against": AnnotationField(_("people against models"), "{t}.is_against"),
        "unjudged": AnnotationField(_("unjudged"), "{t}.id IS NULL AND {c}.id <> {pin}.id"),
    }
    sorts: Mapping[str, AnnotationField] = {
        "won": AnnotationField(_("share won over the pinned column"), "{t}.won"),
        "disagreement": AnnotationField(_("how far judges disagree"), "{t}.disagreement"),
        "uncertainty": AnnotationField(_("how little judges tell"), "{t}.uncertainty"),
    }
    picks: Sequence[str] = (CRITERION,)

    def picked(self, columns: Columns) -> Mapping[str, Picked]:
        """Return the criteria to choose from: those of tournaments in which the columns met; empty if none."""
        found = Rubric.objects.filter(tournaments__in=met(columns).tournaments)
        slugs = found.order_by("criterion__slug").values_list("criterion__slug", flat=True).distinct()
        options = {slug: slug for slug in slugs}
        return {CRITERION: Picked(_("Judged by"), _("any criterion"), options)} if options else {}

    def notes(self, columns: Columns) -> Sequence[str]:
        """Return a note on hidden verdicts if the user votes, or may vote, in an open tournament of these runs."""
        if not met(columns).blind:
            return ()
        return (
            gettext(
                "A tournament of these runs still takes votes: until it is closed, what was said of answers is shown "
                "only where you have judged them yourself."
            ),
        )

    def table(self, columns: Columns, picked: Mapping[str, str]) -> Sql:
        """Return a query of one row per response that was judged against the pinned one."""
        stands = met(columns)
        each = [_pairs(stands, *sides) for sides in (("a", "b", 1), ("b", "a", -1))]
        slug = picked.get(CRITERION, "")
        text = TABLE.format(pairs=" UNION ALL ".join(one.text for one in each), by=BY if slug else "true")
        return Sql(text, [*(value for one in each for value in one.values), *([slug] if slug else [])])

    def chips(self, columns: Columns, rows: Sequence[Sequence[int | None]]) -> Mapping[int, Sequence[Chip]]:
        """Return the chips of each response, one per criterion."""
        pinned = {pk for row in rows for pk in row[columns.pin : columns.pin + 1] if pk}
        answers = {pk for row in rows for pk in row if pk}
        return of(met(columns), pinned, answers - pinned)


def _pairs(stands: Met, one: str, other: str, way: int) -> Sql:
    """Return a query of the comparisons with another column as side `one` and the pinned column as side `other`."""
    text = PAIRS.format(one=one, other=other, way=way, seen=SEEN if stands.blind else "true")
    return Sql(text, [stands.others, stands.pinned, *([stands.blind, stands.voters] if stands.blind else [])])
