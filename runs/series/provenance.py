"""Provenance of a run's held-out series: who measured it, with which estimator, on answers decoded in which way.

A run that esweb started is measured by the common evaluator, as its config says. An imported or pushed series is known
as far as its file says; the rest is unknown and called so. Nothing is guessed from a key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Attempt, Run

EVALUATOR, IMPORTED, PUSHED = "evaluator", "import", "push"
EXACT, K3, MEAN, UNKNOWN = "exact", "k3", "mean", "unknown"
GREEDY, SAMPLED = "greedy", "sampled"
EVALUATION_FILE = "evaluation"
"""The kind of imports that are evaluations with their settings (`runs.importing.evaluations`)."""
KL = ("kl", "kl/k3")
MEASURED = ("reward/", "accuracy/", "response/", "sample/", "cost/", "safety/")
"""Keys of held-out series begin so; other keys are a method's own stream."""
ORIGINS = {EVALUATOR: _("common evaluator"), IMPORTED: _("imported"), PUSHED: _("pushed by a script")}
ESTIMATORS = {EXACT: _("exact"), K3: _("k3 estimate"), MEAN: _("mean"), UNKNOWN: _("unknown estimator")}


@dataclass(frozen=True)
class Provenance:
    """origin, one of ORIGINS. estimator, one of ESTIMATORS. decoding: greedy, sampled or unknown. temperature and
    samples (answers to a prompt) of sampled answers, None where they are unknown."""

    origin: str
    estimator: str
    decoding: str = UNKNOWN
    temperature: float | None = None
    samples: int | None = None

    @property
    def words(self) -> str:
        """The provenance for people: `k3 estimate, 20 samples a prompt at T = 0.7, imported`."""
        parts = [gettext(ESTIMATORS[self.estimator])] if self.estimator != MEAN else []
        parts.append(self.decoding_words)
        return ", ".join([*parts, gettext(ORIGINS[self.origin])] if self.origin != EVALUATOR else parts)

    @property
    def decoding_words(self) -> str:
        """The decoding for people: `greedy`, `20 samples a prompt at T = 0.7`, `decoding unknown`."""
        if self.decoding == GREEDY:
            return gettext("greedy")
        if self.decoding == UNKNOWN:
            return gettext("decoding unknown")
        known = {"samples": self.samples, "temperature": "?" if self.temperature is None else f"{self.temperature:g}"}
        if self.samples is None:
            return gettext("sampled at T = %(temperature)s") % known
        return gettext("%(samples)s samples a prompt at T = %(temperature)s") % known

    def to_json(self) -> dict[str, Any]:
        """The fields as the API and files give them."""
        return {"origin": self.origin, "estimator": self.estimator, "decoding": self.decoding,
                "temperature": self.temperature, "samples": self.samples}  # fmt: skip


def origins_of(runs: Collection[Run]) -> dict[int, str]:
    """Return by run id where its series come from: EVALUATOR, PUSHED, or IMPORTED with the kind of file after a colon.

    One query, however many runs there are.
    """
    is_started = Exists(Attempt.objects.filter(run=OuterRef("pk"), cluster__isnull=False))
    rows = Run.objects.filter(pk__in=[run.pk for run in runs]).values_list("pk", "source__kind", is_started)
    return {
        pk: f"{IMPORTED}:{kind}" if kind is not None else EVALUATOR if started else PUSHED for pk, kind, started in rows
    }


def provenance(config: Mapping[str, Any], key: str, origin: str) -> Provenance | None:
    """Return the provenance of a series of a run with this config; None for keys that no evaluation measures.

    `origin` is the run's, of `origins_of`.
    """
    if key not in KL and not key.startswith(MEASURED):
        return None
    came, _, kind = origin.partition(":")
    asked = config.get("evaluation")
    settings: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {}
    temperature, samples = _number(settings.get("temperature")), _count(settings.get("samples"))
    if came == EVALUATOR:
        if key not in KL and not key.startswith("sample/"):
            return Provenance(came, MEAN, GREEDY)
        return Provenance(came, {"kl": EXACT, "kl/k3": K3}.get(key, MEAN), SAMPLED, temperature, samples)
    if kind != EVALUATION_FILE:
        return Provenance(came, UNKNOWN if key in KL else MEAN)
    # Evaluations that are imported sample unless they say otherwise, and their KL is the k3 estimate on these answers.
    others = config.get("imported")
    is_greedy = isinstance(others, Mapping) and others.get("evaluation_do_sample") is False
    decoding = GREEDY if is_greedy else SAMPLED if temperature is not None or samples is not None else UNKNOWN
    known = (temperature, samples) if decoding == SAMPLED else (None, None)
    return Provenance(came, K3 if key in KL else MEAN, decoding, *known)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
