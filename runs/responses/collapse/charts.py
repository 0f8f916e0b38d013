"""Charts of a run's collapse measures over its steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from django.utils.translation import gettext_noop as _

from runs.charts import Chart, Spec, draw_charts
from runs.metrics import Curve
from runs.models import Run
from workers.analysis.collapse import Measures
from workers.analysis.collapse.languages import foreign_languages, main_language

SPECS = (
    Spec("collapse/shared", _("Repeated text"), _("share of responses"),
         (("collapse/sentence", _("a sentence")), ("collapse/near", _("nearly all words")),
          ("collapse/opening", _("the opening")), ("collapse/exact", _("all words"))),
         _("Near 1, all prompts get the same text.")),
    Spec("collapse/variety", _("Variety"), _("share of all"),
         (("collapse/distinct", _("different word pairs")), ("collapse/clusters", _("different responses"))),
         _("Near 0, the same text repeats.")),
    Spec("collapse/alike", _("Similarity"), "",
         (("collapse/gzip", _("compression factor")), ("collapse/self_bleu", _("self-BLEU")))),
    Spec("collapse/manners", _("Leaks, cuts, refusals, languages, empty responses"), _("share of responses"),
         (("collapse/leak", _("play the user too")), ("collapse/cut", _("cut off")),
          ("collapse/refusal", _("refusals")), ("collapse/language", _("in another language than first")),
          ("collapse/empty", _("empty")))),
)  # fmt: skip


def collapse_charts(run: Run, steps: Mapping[int, Measures]) -> list[Chart]:
    """Return a chart of each kind of number over the steps; none if fewer than two steps are measured."""
    if len(steps) < 2:
        return []
    curves = {key: _curve(run, key, steps) for spec in SPECS for key in spec.keys}
    return list(draw_charts(run, [spec.spoken() for spec in SPECS], {k: c for k, c in curves.items() if len(c.x)}))


def _curve(run: Run, key: str, steps: Mapping[int, Measures]) -> Curve:
    """Return a measure over the steps. Measures of an amount of text use the largest amount that all steps have."""
    name = key.removeprefix("collapse/")
    values = {step: _value(name, measures, steps) for step, measures in sorted(steps.items())}
    known_values = {step: value for step, value in values.items() if value is not None}
    x, y = np.array(list(known_values), np.float64), np.array(list(known_values.values()), np.float64)
    return Curve(run.pk, key, x, y, np.zeros(len(x), bool), len(x))


def _value(name: str, measures: Measures, steps: Mapping[int, Measures]) -> float | None:
    if name == "clusters":
        return measures.clusters / measures.answers
    if name == "language":
        first = (
            next(step_measures.languages for _step, step_measures in sorted(steps.items()) if step_measures.languages)
            if measures.languages
            else {}
        )
        return (
            sum(foreign_languages(measures.languages, main_language(first)).values()) / sum(measures.languages.values())
            if first
            else None
        )
    if name not in ("distinct", "gzip"):
        value: float | None = getattr(measures, name)
        return value
    amounts = set.intersection(*(set(getattr(other, name)) for other in steps.values()))
    if not amounts:
        return None
    return measures.distinct[max(amounts)][1] if name == "distinct" else measures.gzip[max(amounts)]
