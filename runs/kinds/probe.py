"""Probes: runs that examine the weights of a model, or of other runs, without training."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy

from runs.kinds.kind import Examination, Kind, ResultsPage, Resumption
from workers.config.probe import MAX_RUNS

PROBE = Kind(
    slug="probe",
    methods=("probe",),
    tabs=("overview", "log", "config"),
    resumption=Resumption(
        refusal=_("%(name)s has completed all of its probes; clone it to probe again, with other settings"),
        note="continues with the probes that are not complete yet",
        message=_("%(name)s continues with the probes that are not complete yet, as attempt %(n)s."),
        preview=_("Continues with the probes that are not complete yet, as attempt %(n)s."),
    ),
    essential=("probe.runs", "probe.probes", "probe.draws", "probe.sigmas"),
    examination=Examination(
        "probe",
        "runs",
        _("Probe"),
        _("Examine the weights of this run, without training"),
        max_runs=MAX_RUNS,
        joint_button=_("Probe these"),
        joint_hint=_("Examine the weights of these runs together, without training"),
        copies=("task", "model", "compute", "evaluation.prompts"),
    ),
    is_listed=False,
    unlisted_text=ngettext_lazy("%(n)s probe is not listed", "%(n)s probes are not listed", "n"),
    show_text=ngettext_lazy("Show %(n)s probe", "Show %(n)s probes", "n"),
    results_page=ResultsPage(
        route="probes",
        link=_("Probes"),
        hint=_("What the weights of the trainings have in common with chance, tensor by tensor"),
        run_link=_("Tensors and curves"),
        run_hint=_("Each value next to the band that chance gives it"),
    ),
    results_template="run_page/probes.html",
    parent_label=_("Probe of"),
    has_probe_results=True,
    counts_parts=True,
    can_be_compared=False,
    can_be_judged=False,
)
