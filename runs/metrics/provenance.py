"""Provenance of a run's held-out series: who measured it, with which estimator, on answers decoded in which way.

A run that esweb started is measured by the common evaluator, as its config states. Imported, pushed and reported series
are known as far as their file states, or their key if it names the estimator (`kl/k3`); the rest is called unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from django.db.models import Case, Exists, F, Func, JSONField, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Concat
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics.catalogue import metric_of
from runs.models import RUN_FOLDER, Attempt, Run, Series
from workers.analysis.keys import CAPTURED, COMPARED, MARGIN, PREFERS_RIGHT
from workers.csv_cells import fields_text

EVALUATOR, IMPORTED, PUSHED, EXTERNAL = "evaluator", "import", "push", "external"
EXACT, K3, MEAN, UNKNOWN = "exact", "k3", "mean", "unknown"
GREEDY, SAMPLED, NO_RESPONSE = "greedy", "sampled", "none"
CAPTURED_STEPS = "captured"
"""Rounding of responses that captured steps wrote in 16 bits: the same in all such evaluations, other than before."""
EVALUATION_FILE = "evaluation"
"""The kind of imports that are evaluations with their settings (`runs.importing.readers.evaluations`)."""
KL = ("kl", "kl/k3")
LIKELIHOODS = (PREFERS_RIGHT, MARGIN, COMPARED)
"""Keys of series that no response enters: the model reads given answers."""
MEASURED = ("reward/", "accuracy/", "response/", "sample/", "cost/", "safety/", "likelihood/")
"""Prefixes of keys of held-out series, besides rows of the catalogue in HELD_OUT sections; others are a method's own
stream."""
HELD_OUT = ("held-out", "parts")
ORIGIN = "series_origin"
"""The attribute of runs that were read with their origin."""
FILE_KEY_PREFIX = "eval/"
"""Prefix of keys that only the evaluation of a file has, not the common evaluator."""
FACT_PATHS = (("evaluation", "temperature"), ("evaluation", "samples"), ("imported", "evaluation_do_sample"))
"""Config paths that determine a provenance."""
ORIGINS = {
    EVALUATOR: _("common evaluator"), IMPORTED: _("imported"), PUSHED: _("pushed by a script"),
    EXTERNAL: _("reported by a program elsewhere"),
}  # fmt: skip
ESTIMATORS = {EXACT: _("exact"), K3: _("k3 estimate"), MEAN: _("mean"), UNKNOWN: _("unknown estimator")}


@dataclass(frozen=True)
class Provenance:
    """Measurement of a series. origin: one of ORIGINS. estimator: one of ESTIMATORS. decoding: greedy, sampled,
    none if no response is read, or unknown. temperature and samples (responses per prompt) of sampled responses, None
    if unknown. rounding: CAPTURED_STEPS if these wrote the responses in 16 bits, None otherwise."""

    origin: str
    estimator: str
    decoding: str = UNKNOWN
    temperature: float | None = None
    samples: int | None = None
    rounding: str | None = None

    @property
    def words(self) -> str:
        """Return the provenance as text: `k3 estimate, 20 samples a prompt at T = 0.7, imported`."""
        parts = [gettext(ESTIMATORS[self.estimator])] if self.estimator != MEAN else []
        parts.append(self.decoding_words)
        if self.rounding == CAPTURED_STEPS:
            parts.append(gettext("captured steps"))
        return ", ".join([*parts, gettext(ORIGINS[self.origin])] if self.origin != EVALUATOR else parts)

    @property
    def decoding_words(self) -> str:
        """Return the decoding as text: `greedy`, `20 samples a prompt at T = 0.7`, `without responses`, …."""
        if self.decoding == GREEDY:
            return gettext("greedy")
        if self.decoding == NO_RESPONSE:
            return gettext("without responses")
        if self.decoding == UNKNOWN:
            return gettext("decoding unknown")
        params = {"samples": self.samples, "temperature": "?" if self.temperature is None else f"{self.temperature:g}"}
        if self.samples is None:
            return gettext("sampled at T = %(temperature)s") % params
        return gettext("%(samples)s samples a prompt at T = %(temperature)s") % params

    def to_json(self) -> dict[str, Any]:
        """Return the fields as the API and files give them."""
        return {"origin": self.origin, "estimator": self.estimator, "decoding": self.decoding,
                "temperature": self.temperature, "samples": self.samples, "rounding": self.rounding}  # fmt: skip

    @property
    def text(self) -> str:
        """Return the fields as a cell of a CSV file, the same in every language."""
        return fields_text(self.to_json())


Provenances: TypeAlias = Mapping[tuple[int, str], Provenance]
"""Measurement of each series by (run id, key), without keys that no evaluation measures."""


def with_origins(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs so that each is read with its origin, and `origins_of` needs no query."""
    return runs.annotate(**{ORIGIN: origin_expression()})


def origins_of(runs: Collection[Run]) -> dict[int, str]:
    """Return by run id the origin of its series: PUSHED, EXTERNAL, IMPORTED with the kind of file after a colon, or
    EVALUATOR, with the rounding after a colon if it is CAPTURED_STEPS.

    One query, however many runs there are; none for runs that were read `with_origins`.
    """
    known_origins = {run.pk: getattr(run, ORIGIN) for run in runs if hasattr(run, ORIGIN)}
    unknown_ids = [run.pk for run in runs if run.pk not in known_origins]
    rows = Run.objects.filter(pk__in=unknown_ids).values_list("pk", origin_expression()) if unknown_ids else ()
    return known_origins | dict(rows)


def origin_expression() -> Case:
    """Return the origin of a run as SQL, as `origins_of` gives it."""
    is_started = Exists(Attempt.objects.filter(run=OuterRef("pk"), cluster__isnull=False))
    imported = Concat(Value(f"{IMPORTED}:"), F("source__kind"))
    is_own = Q(source__kind=RUN_FOLDER)
    is_captured = Exists(Series.objects.filter(run=OuterRef("pk"), key=CAPTURED))
    evaluator = Case(When(is_captured, then=Value(f"{EVALUATOR}:{CAPTURED_STEPS}")), default=Value(EVALUATOR))
    return Case(
        When(is_own, source__series_origin="", then=evaluator), When(is_own, then=F("source__series_origin")),
        When(source__isnull=False, then=imported), When(external__isnull=False, then=Value(EXTERNAL)),
        When(is_started, then=evaluator), default=Value(PUSHED), output_field=TextField(),
    )  # fmt: skip


def facts_expression() -> Func:
    """Return as SQL the facts that determine the provenance of a run's series, for `provenance_of_facts`."""
    values = (F("__".join(("config", *path))) for path in FACT_PATHS)
    return Func(origin_expression(), *values, function="jsonb_build_array", output_field=JSONField())


def provenance_of_facts(facts: Sequence[Any], key: str) -> Provenance | None:
    """Return the provenance of a series of a run with these facts (`facts_expression`)."""
    origin, *values = facts
    config: dict[str, dict[str, Any]] = {}
    for (section, name), value in zip(FACT_PATHS, values, strict=True):
        config.setdefault(section, {})[name] = value
    return provenance(config, key, origin)


def provenances(
    runs: Collection[Run], keys: Iterable[str], origins: Mapping[int, str]
) -> dict[tuple[int, str], Provenance]:
    """Return how each series of these runs was measured, as far as `origins` knows the run, whether it has points or
    not."""
    measured = {(r.pk, key): provenance(r.config, key, origins[r.pk]) for key in keys for r in runs if r.pk in origins}
    return {series: way for series, way in measured.items() if way is not None}


def ways(measured: Iterable[Provenance | None]) -> tuple[Provenance, ...]:
    """Return the different provenances, the most frequent first: a mean over series with several is no mean of one
    thing."""
    return tuple(way for way, _n in Counter(way for way in measured if way is not None).most_common())


def ways_in_words(several: Iterable[Provenance]) -> str:
    """Return provenances as text: `greedy; 20 samples a prompt at T = 0.7, imported`."""
    return "; ".join(way.words for way in several)


def is_held_out(key: str) -> bool:
    """Return whether an evaluation measures the series of this key, at least in some runs."""
    return key in KL or key.startswith((*MEASURED, FILE_KEY_PREFIX)) or metric_of(key).section in HELD_OUT


def provenance(config: Mapping[str, Any], key: str, origin: str) -> Provenance | None:
    """Return the provenance of a series of a run with this config; None for keys that no evaluation measures.

    `origin` is the run's, of `origins_of`.
    """
    if not is_held_out(key):
        return None
    evaluation, imported = config.get("evaluation"), config.get("imported")
    settings: Mapping[str, Any] = evaluation if isinstance(evaluation, Mapping) else {}
    is_greedy = isinstance(imported, Mapping) and imported.get("evaluation_do_sample") is False
    temperature, samples = _number(settings.get("temperature")), _count(settings.get("samples"))
    return _provenance(key, origin, temperature, samples, is_greedy=is_greedy)


@lru_cache(maxsize=1000)
def _provenance(
    key: str, origin: str, temperature: float | None, samples: int | None, *, is_greedy: bool
) -> Provenance | None:
    """Return the provenance of a held-out series. Cached: thousands of series have one of a few."""
    source, _, kind = origin.partition(":")
    if source == EVALUATOR and key.startswith(FILE_KEY_PREFIX):
        return None
    if source == EVALUATOR and key in LIKELIHOODS:
        return Provenance(source, MEAN, NO_RESPONSE)
    if source == EVALUATOR:
        rounding = kind or None
        if key not in KL and not key.startswith("sample/"):
            return Provenance(source, MEAN, GREEDY, rounding=rounding)
        return Provenance(source, {"kl": EXACT, "kl/k3": K3}.get(key, MEAN), SAMPLED, temperature, samples, rounding)
    # kl/k3 is a key of ours that names its estimator; kl may be any.
    unnamed = K3 if key == "kl/k3" else UNKNOWN if key in KL or key.startswith(FILE_KEY_PREFIX) else MEAN
    if kind != EVALUATION_FILE:
        return Provenance(source, unnamed)
    # Imported evaluations sample unless their config disables it; their KL is the k3 estimate on these responses.
    decoding = GREEDY if is_greedy else SAMPLED if temperature is not None or samples is not None else UNKNOWN
    sampling = (temperature, samples) if decoding == SAMPLED else (None, None)
    return Provenance(source, K3 if key in KL else unnamed, decoding, *sampling)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
