"""Audits: runs that attack the reward of a task before it is trained on."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy

from runs.kinds.kind import Examination, Kind, Resumption

AUDIT = Kind(
    slug="audit",
    methods=("audit",),
    tabs=("overview", "log", "config"),
    resumption=Resumption(
        refusal=_("%(name)s has made all of its attacks; clone it to audit again, with other settings"),
        note="audits again from the beginning",
        message=_("%(name)s audits again from the beginning, as attempt %(n)s."),
        preview=_("Audits again from the beginning, as attempt %(n)s."),
    ),
    essential=("audit.prompts", "audit.seconds", "audit.samples", "audit.members", "audit.sigma"),
    examination=Examination(
        "audit",
        "",
        _("Audit the reward"),
        _("Attack the reward of this run's task, without training"),
        copies=("task", "model", "compute.cluster", "compute.partition"),
    ),
    is_listed=False,
    unlisted_text=ngettext_lazy("%(n)s audit is not listed", "%(n)s audits are not listed", "n"),
    show_text=ngettext_lazy("Show %(n)s audit", "Show %(n)s audits", "n"),
    results_template="reward_audits/results.html",
    parent_label=_("Audit with the model of"),
    has_attack_results=True,
    counts_parts=True,
    can_be_compared=False,
    can_be_judged=False,
)
