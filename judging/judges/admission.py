"""Decide which verdicts count on a board.

A model's verdicts count if its newest calibration on gold pairs, against human verdicts, passes, and if few of its
verdicts in the tournament are missing: the questions that a judge refuses or fails are not random.

The judge by rules needs no calibration: it claims nothing, and boards name it as what it is. Judges of imported files
need none either, because esweb sends them no questions: boards name them as imported, not calibrated here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext

from judging.models import Calibration, Contestant, Judge, Rubric, Tournament, Verdict
from judging.stats.votes import MISSING
from runs.models.experiment import config_section

MAX_MISSING_SHARE = 0.02
"""The largest share of a judge's verdicts in a tournament by a rubric that may be missing."""
UNGATED_KINDS = (Judge.Kind.RULES, Judge.Kind.IMPORTED)
NO_VERDICT = [outcome.name.lower() for outcome in MISSING]


def admitted_verdicts(verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
    """Return the verdicts that count on boards.

    They are those of voters, of rules, of imported files, and of models with a newest calibration by the same rubric
    that passes. A model's verdicts in a tournament by a rubric are left out if too many of them are missing.
    """
    newest = Calibration.objects.filter(judge=OuterRef("judge"), rubric=OuterRef("rubric")).order_by("-at", "-pk")
    own = Calibration.objects.filter(judge=OuterRef("judge"), rubric=OuterRef("rubric"))
    passed = own.filter(pk=Subquery(newest.values("pk")[:1]), passes=True)
    counted = verdicts.filter(Q(judge=None) | Q(judge__kind__in=UNGATED_KINDS) | Exists(passed))
    for group in _verdict_counts(verdicts):
        if _is_short(group):
            lookup = {name: group[name] for name in ("comparison__tournament", "judge", "rubric")}
            counted = counted.exclude(**lookup)
    return counted


def exclusion_reason(judge: Judge, rubric: Rubric, tournament: Tournament | None = None) -> str:
    """Return the reason why the judge's verdicts by the rubric, on a tournament, are on no board; empty if they are on
    one."""
    return exclusion_reasons([judge], [rubric], tournament).get((judge.pk, rubric.pk), "")


def exclusion_reasons(
    judges: Collection[Judge], rubrics: Collection[Rubric], tournament: Tournament | None = None
) -> dict[tuple[int, int], str]:
    """Return the reasons why verdicts of these judges by these rubrics, on a tournament, are on no board.

    The result is (judge, rubric) -> a sentence, only for the combinations that are on no board, in their order. It
    takes two queries for any number of them.
    """
    gated = [judge for judge in judges if judge.kind not in UNGATED_KINDS]
    if not gated:
        return {}
    newest = Calibration.objects.filter(judge__in=gated, rubric__in=rubrics)
    rows = newest.order_by("judge_id", "rubric_id", "-at", "-pk").distinct("judge_id", "rubric_id")
    passed = {(judge, rubric): passes for judge, rubric, passes in rows.values_list("judge", "rubric", "passes")}
    # As boards count them: second samples only measure the judge's consistency.
    first_samples = Verdict.objects.rating().filter(judge__in=gated, sample=0)
    own = first_samples.filter(rubric__in=rubrics, comparison__tournament=tournament)
    short = {(group["judge"], group["rubric"]): group for group in _verdict_counts(own) if _is_short(group)}
    reasons = {
        (judge.pk, rubric.pk): _reason(judge, rubric, passed.get((judge.pk, rubric.pk)), short)
        for judge in gated
        for rubric in rubrics
    }
    return {key: reason for key, reason in reasons.items() if reason}


def _reason(judge: Judge, rubric: Rubric, passes: bool | None, short: Mapping[tuple[int, int], dict[str, Any]]) -> str:
    params = {"judge": judge.name, "rubric": rubric}
    if passes is None:
        return gettext("%(judge)s has not been calibrated by %(rubric)s.") % params
    if not passes:
        return gettext("%(judge)s failed its calibration by %(rubric)s.") % params
    if (group := short.get((judge.pk, rubric.pk))) is None:
        return ""
    message = gettext(
        "%(judge)s gave no verdict in %(missing)s of %(all)s cases by %(rubric)s; at most 2 in 100 are allowed."
    )
    return message % {**params, "missing": group["missing"], "all": group["all"]}


def _verdict_counts(verdicts: QuerySet[Verdict]) -> list[dict[str, Any]]:
    """Count the verdicts of each model in each tournament by each rubric.

    `all` counts all rows, `missing` those that are not verdicts (unparsed, refused, error).
    """
    of_models = verdicts.filter(judge__isnull=False).exclude(judge__kind__in=UNGATED_KINDS)
    groups = of_models.order_by().values("comparison__tournament", "judge", "rubric")
    counted = groups.annotate(all=Count("pk"), missing=Count("pk", filter=Q(outcome__in=NO_VERDICT)))
    return [dict(group) for group in counted]


def _is_short(group: dict[str, Any]) -> bool:
    return bool(group["missing"] > MAX_MISSING_SHARE * group["all"])


def self_preference_warning(judge: Judge, contestants: Sequence[Contestant]) -> str:
    """Return a warning that names the contestants of the judge's own model family.

    Empty if there are none, or if the judge's family is not known.
    """
    family = judge.family.strip().casefold()
    names = [
        contestant.name
        for contestant in contestants
        if contestant.run is not None and family in _base(contestant.run.config)
    ]
    if not family or not names:
        return ""
    message = gettext("%(judge)s and %(names)s belong to one family, %(family)s: judges favour their own family.")
    return message % {"judge": judge.name, "names": ", ".join(names), "family": judge.family.strip()}


def _base(config: dict[str, object]) -> str:
    return str(config_section(config, "model").get("path", "")).casefold()
