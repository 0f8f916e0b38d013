"""Provenance of a run's held-out series: who measured it, with which estimator, on answers decoded in which way.

A run that esweb started is measured by the common evaluator, as its config says. An imported or pushed series is known
as far as its file says; the rest is unknown and called so. Nothing is guessed from a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.models import Case, Exists, F, Func, JSONField, OuterRef, QuerySet, TextField, Value, When
from django.db.models.functions import Concat
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Attempt, Run
from workers.csv_cells import fields_text

EVALUATOR, IMPORTED, PUSHED = "evaluator", "import", "push"
EXACT, K3, MEAN, UNKNOWN = "exact", "k3", "mean", "unknown"
GREEDY, SAMPLED = "greedy", "sampled"
EVALUATION_FILE = "evaluation"
"""The kind of imports that are evaluations with their settings (`runs.importing.readers.evaluations`)."""
KL = ("kl", "kl/k3")
MEASURED = ("reward/", "accuracy/", "response/", "sample/", "cost/", "safety/")
"""Keys of held-out series begin so; other keys are a method's own stream."""
ORIGIN = "series_origin"
"""The attribute of runs that were read with their origin."""
OF_FILES = "eval/"
"""Keys begin so that a file's evaluation has and that have no place in ours."""
READ = (("evaluation", "temperature"), ("evaluation", "samples"), ("imported", "evaluation_do_sample"))
"""Paths in a config that a provenance follows from."""
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

    @property
    def text(self) -> str:
        """The fields as a cell of a CSV file, the same in every language."""
        return fields_text(self.to_json())


Provenances: TypeAlias = Mapping[tuple[int, str], Provenance]
"""(run id, key) -> how the series was measured; without keys that no evaluation measures."""


def with_origins(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs so that each is read with its origin, and `origins_of` needs no query."""
    return runs.annotate(**{ORIGIN: origin_expression()})


def origins_of(runs: Collection[Run]) -> dict[int, str]:
    """Return by run id where its series come from: EVALUATOR, PUSHED, or IMPORTED with the kind of file after a colon.

    One query, however many runs there are; none for runs that were read `with_origins`.
    """
    known = {run.pk: getattr(run, ORIGIN) for run in runs if hasattr(run, ORIGIN)}
    unknown = [run.pk for run in runs if run.pk not in known]
    rows = Run.objects.filter(pk__in=unknown).values_list("pk", origin_expression()) if unknown else ()
    return known | dict(rows)


def origin_expression() -> Case:
    """Return the origin of a run as SQL, as `origins_of` gives it."""
    is_started = Exists(Attempt.objects.filter(run=OuterRef("pk"), cluster__isnull=False))
    imported = Concat(Value(f"{IMPORTED}:"), F("source__kind"))
    return Case(
        When(source__isnull=False, then=imported), When(is_started, then=Value(EVALUATOR)), default=Value(PUSHED),
        output_field=TextField(),
    )  # fmt: skip


def facts_expression() -> Func:
    """Return as SQL what the provenance of a run's series follows from, for `provenance_of_facts`."""
    values = (F("__".join(("config", *path))) for path in READ)
    return Func(origin_expression(), *values, function="jsonb_build_array", output_field=JSONField())


def provenance_of_facts(facts: Sequence[Any], key: str) -> Provenance | None:
    """Return the provenance of a series of a run with these facts (`facts_expression`)."""
    origin, *values = facts
    config: dict[str, dict[str, Any]] = {}
    for (section, name), value in zip(READ, values, strict=True):
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
    """Return provenances as people read them: `greedy; 20 samples a prompt at T = 0.7, imported`."""
    return "; ".join(way.words for way in several)


def is_held_out(key: str) -> bool:
    """Return whether an evaluation measures the series of this key, at least in some runs."""
    return key in KL or key.startswith((*MEASURED, OF_FILES))


def provenance(config: Mapping[str, Any], key: str, origin: str) -> Provenance | None:
    """Return the provenance of a series of a run with this config; None for keys that no evaluation measures.

    `origin` is the run's, of `origins_of`.
    """
    came, _, kind = origin.partition(":")
    if not is_held_out(key) or (came == EVALUATOR and key.startswith(OF_FILES)):
        return None
    asked = config.get("evaluation")
    settings: Mapping[str, Any] = asked if isinstance(asked, Mapping) else {}
    temperature, samples = _number(settings.get("temperature")), _count(settings.get("samples"))
    if came == EVALUATOR:
        if key not in KL and not key.startswith("sample/"):
            return Provenance(came, MEAN, GREEDY)
        return Provenance(came, {"kl": EXACT, "kl/k3": K3}.get(key, MEAN), SAMPLED, temperature, samples)
    unnamed = UNKNOWN if key in KL or key.startswith(OF_FILES) else MEAN
    if kind != EVALUATION_FILE:
        return Provenance(came, unnamed)
    # Evaluations that are imported sample unless they say otherwise, and their KL is the k3 estimate on these answers.
    others = config.get("imported")
    is_greedy = isinstance(others, Mapping) and others.get("evaluation_do_sample") is False
    decoding = GREEDY if is_greedy else SAMPLED if temperature is not None or samples is not None else UNKNOWN
    known = (temperature, samples) if decoding == SAMPLED else (None, None)
    return Provenance(came, K3 if key in KL else unnamed, decoding, *known)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
