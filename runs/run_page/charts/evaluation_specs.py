"""Specs of the series that only evaluations without training record: pass@k, and further tasks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import Spec

PASSES = (
    Spec("pass-1", _("pass@1"), _("share of responses"),
         (("pass@1", _("estimate")), ("pass@1/low", _("low")), ("pass@1/high", _("high"))),
         _("Probability that a sampled response is correct: mean over prompts, with its 95 % interval.")),
)  # fmt: skip
PASS_KEYS = ("pass@", "pass^", "entropy")
"""Beginnings of the keys that evaluations without training record of their own task's samples."""
COUNTS = "evaluate/"
"""Prefix of the numbers of prompts and samples of an evaluation."""
PRIOR = re.compile(r"prior/([^/]+)/")
"""Beginning of the keys of a task that was not trained."""


def prior_parts(own: Sequence[Spec]) -> list[tuple[str, str, str, list[Spec]]]:
    """Return (slug, title, help, its charts) of each prior task, by name. They are details: another page compares tasks
    side by side."""
    specs: dict[str, list[Spec]] = {}
    for spec in own:
        if match := PRIOR.match(spec.name):
            specs.setdefault(match[1], []).append(spec)
    title, words = gettext("Prior task %(task)s"), gettext("A task that was not trained, at the same steps.")
    return [
        (f"prior-{slugify(task)}-details", title % {"task": task}, words, sorted(specs[task], key=pass_order))
        for task in sorted(specs)
    ]


def pass_order(spec: Spec) -> tuple[bool, str, int]:
    """Return the key that sorts pass@k by k, then pass^k, before other specs by name."""
    match = re.search(r"(?:^|/)pass([@^])(\d+)$", spec.name)
    return (False, match[1], int(match[2])) if match else (True, spec.name, 0)
