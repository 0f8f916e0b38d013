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
from judging.viewer_integration.matches import Matches, find_matches
from runs.responses.viewer import AnnotationField, Chip, Columns, PickOptions, Sql

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
class _ResponseVerdicts:
    """Verdicts on a response by one criterion. `names` maps a judge to its name.

    `leans` maps a rater, (voter, judge), to one number per verdict: 1 if the response won, -1 if it lost, else 0.
    """

    leans: dict[tuple[int | None, int | None], list[int]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)


def response_chips(matches: Matches, pinned: Collection[int], others: Collection[int]) -> Mapping[int, Sequence[Chip]]:
    """Return the chips of each response of `others` that has verdicts, sorted by criterion. One query."""
    if not matches.tournaments:
        return {}
    verdicts_by_response: dict[tuple[int, str], _ResponseVerdicts] = defaultdict(_ResponseVerdicts)
    for a, b, slug, voter, judge, name, outcome in _rows(matches, {*pinned, *others}):
        if (a in pinned) == (b in pinned):
            continue
        verdicts = verdicts_by_response[b if a in pinned else a, slug]
        verdicts.leans[voter, judge].append(LEAN.get(outcome, 0) * (-1 if a in pinned else 1))
        verdicts.names[judge or 0] = name
    chips: dict[int, list[Chip]] = defaultdict(list)
    for (answer, slug), verdicts in sorted(verdicts_by_response.items()):
        chips[answer].append(_chip(slug, verdicts))
    return chips


def _rows(
    matches: Matches, answers: Collection[int]
) -> Iterator[tuple[int, int, str, int | None, int | None, str, str]]:
    comparisons = Comparison.objects.filter(
        matches.are_visible, tournament__in=matches.tournaments, response_a__in=answers, response_b__in=answers
    )
    verdicts = Verdict.objects.comparing().filter(comparison__in=comparisons, outcome__in=COUNTING)
    # A model's repeated verdicts measure its consistency, so only the first sample counts.
    first_samples = verdicts.exclude(judge__kind=Judge.Kind.OPENAI, sample__gt=0)
    return first_samples.order_by("pk").values_list(*ROW, "outcome").iterator()


def _chip(slug: str, verdicts: _ResponseVerdicts) -> Chip:
    labels = Counter(_label(leans) for leans in verdicts.leans.values())
    lead = (labels[1] > labels[-1]) - (labels[1] < labels[-1])
    sign, tone = SIGNS[lead]
    return Chip(sign, f"{slug}: {_outcome_text(lead, labels)}", tone, tuple(_lines(verdicts)))


def _label(leans: Sequence[int]) -> int:
    return (sum(leans) > 0) - (sum(leans) < 0)


def _outcome_text(lead: int, labels: Mapping[int, int]) -> str:
    """Describe the result against the pinned response, with the number of raters if there are several.

    `lead` is 1 if more raters prefer the response, -1 if fewer do, 0 if equal. `labels` counts raters by 1, 0 and -1.
    """
    n = sum(labels.values())
    alone = {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[lead]
    if n == 1:
        return alone
    if lead == 0:
        return gettext("tied, %(won)s to %(lost)s") % {"won": labels[1], "lost": labels[-1]}
    message = gettext("won %(count)s of %(n)s") if lead > 0 else gettext("lost %(count)s of %(n)s")
    return message % {"count": labels[lead], "n": n}


def _lines(verdicts: _ResponseVerdicts) -> Iterator[str]:
    """Yield one line for all voters together, without their names, and one line per judge, with its name."""
    voters = Counter(_label(leans) for (voter, _), leans in verdicts.leans.items() if voter is not None)
    if voters:
        n = sum(voters.values())
        message = ngettext("%(n)s human: %(won)s won, %(lost)s lost", "%(n)s humans: %(won)s won, %(lost)s lost", n)
        yield message % {"n": n, "won": voters[1], "lost": voters[-1]}
    for (_voter, judge), leans in verdicts.leans.items():
        if judge is not None:
            yield f"{verdicts.names[judge]}: {_rater_result(leans)}"


def _rater_result(leans: Sequence[int]) -> str:
    if len(set(leans)) > 1:
        return gettext("not the same in both orders")
    return {1: gettext("won"), 0: gettext("tied"), -1: gettext("lost")}[_label(leans)]


class JudgmentAnnotations:
    """Annotation source of the viewer for verdicts.

    `uncertainty` is the standard deviation of the share that a response wins, with a uniform prior from 0 to 1.
    """

    title = _("Judges, compared with the pinned response")
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
        "swapped": AnnotationField(_("a judge's verdict changes if sides are swapped"), "{t}.is_swapped"),
        "people_against": AnnotationField(_("humans against models"), "{t}.is_against"),
        "unjudged": AnnotationField(_("unjudged"), "{t}.id IS NULL AND {c}.id <> {pin}.id"),
    }
    sorts: Mapping[str, AnnotationField] = {
        "won": AnnotationField(_("share won over the pinned column"), "{t}.won"),
        "disagreement": AnnotationField(_("how far judges disagree"), "{t}.disagreement"),
        "uncertainty": AnnotationField(_("uncertainty of the judges"), "{t}.uncertainty"),
    }
    picks: Sequence[str] = (CRITERION,)

    def picked(self, columns: Columns) -> Mapping[str, PickOptions]:
        """Return the criteria to choose from: those of tournaments in which the columns met; empty if none."""
        rubrics = Rubric.objects.filter(tournaments__in=find_matches(columns).tournaments)
        slugs = rubrics.order_by("criterion__slug").values_list("criterion__slug", flat=True).distinct()
        options = {slug: slug for slug in slugs}
        return {CRITERION: PickOptions(_("Judged by"), _("any criterion"), options)} if options else {}

    def notes(self, columns: Columns) -> Sequence[str]:
        """Return a note on hidden verdicts if the user votes, or may vote, in an open tournament of these runs."""
        if not find_matches(columns).blind:
            return ()
        return (
            gettext(
                "A tournament of these runs still accepts votes. Until it is closed, verdicts are shown only for "
                "responses that you have judged yourself."
            ),
        )

    def table(self, columns: Columns, picked: Mapping[str, str]) -> Sql:
        """Return a query of one row per response that was judged against the pinned one."""
        matches = find_matches(columns)
        pair_queries = [_pairs(matches, *sides) for sides in (("a", "b", 1), ("b", "a", -1))]
        slug = picked.get(CRITERION, "")
        text = TABLE.format(pairs=" UNION ALL ".join(query.text for query in pair_queries), by=BY if slug else "true")
        return Sql(text, [*(value for query in pair_queries for value in query.values), *([slug] if slug else [])])

    def chips(self, columns: Columns, rows: Sequence[Sequence[int | None]]) -> Mapping[int, Sequence[Chip]]:
        """Return the chips of each response, one per criterion."""
        pinned = {pk for row in rows for pk in row[columns.pin : columns.pin + 1] if pk}
        answers = {pk for row in rows for pk in row if pk}
        return response_chips(find_matches(columns), pinned, answers - pinned)


def _pairs(matches: Matches, side: str, pinned_side: str, way: int) -> Sql:
    """Return a query of the comparisons with another column as side `one` and the pinned column as side `other`."""
    text = PAIRS.format(one=side, other=pinned_side, way=way, seen=SEEN if matches.blind else "true")
    return Sql(text, [matches.others, matches.pinned, *([matches.blind, matches.voters] if matches.blind else [])])
