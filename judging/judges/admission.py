"""The gate before a board: a model's verdicts count where it has been held against people's, on gold, and done well.

The judge that is no model has no gate: it claims nothing, and boards name it as what it is.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext

from judging.models import Calibration, Judge, Rubric, Verdict


def admitted(verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
    """Those of people, of rules, and of models whose newest calibration by the same rubric passes."""
    newest = Calibration.objects.filter(judge=OuterRef("judge"), rubric=OuterRef("rubric")).order_by("-at", "-pk")
    passed = Calibration.objects.filter(pk=Subquery(newest.values("pk")[:1]), passes=True)
    return verdicts.filter(Q(judge=None) | Q(judge__kind=Judge.Kind.RULES) | Exists(passed))


def why_not(judge: Judge, rubric: Rubric) -> str:
    """Why the judge's verdicts by the rubric are in no board; empty where they are."""
    if judge.kind == Judge.Kind.RULES:
        return ""
    newest = judge.calibrations.filter(rubric=rubric).order_by("-at", "-pk").first()
    what = {"judge": judge.name, "rubric": rubric}
    if newest is None:
        return gettext("%(judge)s has not been held against people's verdicts by %(rubric)s.") % what
    return "" if newest.passes else gettext("%(judge)s did not agree well enough with people by %(rubric)s.") % what
