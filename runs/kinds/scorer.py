"""Scorers: runs that serve a reward and a cost model, and train nothing."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from runs.kinds.kind import Kind, Resumption
from runs.kinds.training import TRAINING

SCORER = Kind(
    slug="scorer",
    methods=("scorer",),
    tabs=TRAINING.tabs,
    resumption=Resumption(
        refusal=_("%(name)s has stopped serving; clone it to serve again, with other settings"),
        note="serves again",
        message=_("%(name)s serves again, as attempt %(n)s."),
        preview=_("Serves again, as attempt %(n)s."),
    ),
    essential=(
        "scorer.name", "scorer.reward_model", "scorer.cost_model", "scorer.host", "scorer.secret",
    ),
)  # fmt: skip
