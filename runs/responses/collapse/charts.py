"""What a run's answers have in common, over its steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from django.utils.translation import gettext_noop as _

from runs.charts import Chart, Spec, drawn
from runs.metrics import Curve
from runs.models import Run
from workers.analysis.collapse import Measures
from workers.analysis.collapse.languages import foreign, main_of

SPECS = (
    Spec("collapse/shared", _("What answers share"), _("share of answers"),
         (("collapse/sentence", _("a sentence")), ("collapse/near", _("nearly all words")),
          ("collapse/opening", _("the opening")), ("collapse/exact", _("all words"))),
         _("Up towards 1: the same is said to every prompt.")),
    Spec("collapse/variety", _("How much they vary"), _("share of all"),
         (("collapse/distinct", _("different word pairs")), ("collapse/clusters", _("different answers"))),
         _("Down towards 0: the same is said again and again.")),
    Spec("collapse/alike", _("How alike they are"), "",
         (("collapse/gzip", _("times that they compress")), ("collapse/self_bleu", _("self-BLEU")))),
    Spec("collapse/manners", _("Leaks, cuts, refusals, languages, empty answers"), _("share of answers"),
         (("collapse/leak", _("play the user too")), ("collapse/cut", _("cut off")),
          ("collapse/refusal", _("refusals")), ("collapse/language", _("in another language than at first")),
          ("collapse/empty", _("empty")))),
)  # fmt: skip


def collapse_charts(run: Run, steps: Mapping[int, Measures]) -> list[Chart]:
    """A chart of each kind of number over the steps; none where fewer than two steps are measured."""
    if len(steps) < 2:
        return []
    curves = {key: _curve(run, key, steps) for spec in SPECS for key in spec.keys}
    return list(drawn(run, [spec.spoken() for spec in SPECS], {k: c for k, c in curves.items() if len(c.x)}))


def _curve(run: Run, key: str, steps: Mapping[int, Measures]) -> Curve:
    """Of text that must be compared at the same amount, the most that all steps have."""
    name = key.removeprefix("collapse/")
    values = {step: _value(name, found, steps) for step, found in sorted(steps.items())}
    kept = {step: value for step, value in values.items() if value is not None}
    x, y = np.array(list(kept), np.float64), np.array(list(kept.values()), np.float64)
    return Curve(run.pk, key, x, y, np.zeros(len(x), bool), len(x))


def _value(name: str, found: Measures, steps: Mapping[int, Measures]) -> float | None:
    if name == "clusters":
        return found.clusters / found.answers
    if name == "language":
        first = next(one.languages for _step, one in sorted(steps.items()) if one.languages) if found.languages else {}
        return sum(foreign(found.languages, main_of(first)).values()) / sum(found.languages.values()) if first else None
    if name not in ("distinct", "gzip"):
        value: float | None = getattr(found, name)
        return value
    amounts = set.intersection(*(set(getattr(other, name)) for other in steps.values()))
    if not amounts:
        return None
    return found.distinct[max(amounts)][1] if name == "distinct" else found.gzip[max(amounts)]
