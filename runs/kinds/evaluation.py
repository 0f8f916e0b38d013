"""Evaluations: runs that evaluate a model, or steps of another run, without training."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy

from runs.kinds.kind import Examination, Kind, ResultsPage, Resumption

EVALUATION = Kind(
    slug="evaluation",
    methods=("evaluate",),
    tabs=("overview", "curves", "responses", "log", "config"),
    resumption=Resumption(
        refusal=_("%(name)s has evaluated all of its steps; clone it to evaluate again, with other settings"),
        note="continues with the steps that are not evaluated yet",
        message=_("%(name)s continues with the steps that are not evaluated yet, as attempt %(n)s."),
        preview=_("Continues with the steps that are not evaluated yet, as attempt %(n)s."),
    ),
    essential=("evaluate.run", "evaluate.steps", "evaluate.points"),
    headline=("pass@1",),
    examination=Examination("evaluate", "run", _("Evaluate"), _("Evaluate steps of this run, without training")),
    has_evaluated_steps=True,
    is_listed=False,
    lists_as_evaluation=True,
    unlisted_text=ngettext_lazy("%(n)s evaluation is not listed", "%(n)s evaluations are not listed", "n"),
    show_text=ngettext_lazy("Show %(n)s evaluation", "Show %(n)s evaluations", "n"),
    results_page=ResultsPage(
        route="evaluations",
        link=_("Evaluations"),
        hint=_("pass@k, what the trainings forget, and which prompts each solves"),
        run_link=_("pass@k and forgetting"),
        run_hint=_("pass@k against k, and what the training forgets"),
    ),
)
