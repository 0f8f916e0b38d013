"""Compare the numbers of a set of answers with a base model's, and report which of them indicate a collapse.

Hardly anything is judged alone: honest models repeat themselves too, and by how much depends on the task (that of this
project ends every answer with the same sentence). A share must exceed the base model's by a margin that matters and by
three standard errors of the difference, counted by prompts: samples of one prompt are nearly the same. Without a base
model a collapse is only reported if nine of ten answers are nearly the same, or begin so: small models that nobody has
trained yet answer half of all questions alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

from workers.analysis.collapse.languages import foreign_languages, main_language
from workers.analysis.collapse.measures import IN, Measures

NEARLY_ALL = 0.9
ERRORS = 3.0
MIN_PROMPTS = 5
"""The least number of prompts: answers to fewer are not judged."""


@dataclass(frozen=True)
class Finding:
    """A detector's result. value, base: of the model and of its base, base None without a base model. limit: a value
    beyond it fires; None if no judgment is possible. at: of so many words or bytes. fired: the value is beyond the
    limit. example: the name of an example, among the measures' examples."""

    name: str
    value: float | None
    base: float | None
    limit: float | None
    fired: bool
    at: int | None = None
    example: str = ""

    @property
    def is_judged(self) -> bool:
        return self.limit is not None


@dataclass(frozen=True)
class Detector:
    """A rule that compares one number. kind: share (of the answers, higher is worse), rise (another number from 0 to 1,
    likewise), times (the largest factor of the base's number), part (the least share of the base's number). alone: the
    limit without a base model, None if there is none. is_alarm: a collapse if it fires; the other detectors only report
    that something changed, for better or worse."""

    name: str
    kind: str
    margin: float
    alone: float | None = None
    is_alarm: bool = True


DETECTORS = (
    Detector("exact", "share", 0.2),
    Detector("near", "share", 0.15, NEARLY_ALL),
    Detector("clusters", "part", 0.5),
    Detector("opening", "share", 0.25, NEARLY_ALL),
    Detector("sentence", "share", 0.1),
    Detector("distinct", "part", 0.5),
    Detector("gzip", "times", 1.6),
    Detector("self_bleu", "rise", 0.25),
    Detector("leak", "share", 0.1),
    Detector("empty", "share", 0.1),
    Detector("language", "share", 0.1),
    Detector("cut", "share", 0.2, is_alarm=False),
    Detector("refusal", "share", 0.2, is_alarm=False),
)


def findings(measures: Measures, base: Measures | None) -> dict[str, Finding]:
    """Return the finding of each detector, in the order of DETECTORS."""
    return {detector.name: _make_finding(detector, measures, base) for detector in DETECTORS}


def _make_finding(detector: Detector, measures: Measures, base: Measures | None) -> Finding:
    if detector.name == "language":
        return _language_finding(detector, measures, base)
    at, value, before = _values(detector.name, measures, base)
    limit = _limit(detector, measures, base, before)
    if value is None or limit is None or measures.prompts < MIN_PROMPTS:
        return Finding(detector.name, value, before, None, False, at)
    return Finding(detector.name, value, before, limit, value < limit if detector.kind == "part" else value > limit, at)


def _limit(detector: Detector, measures: Measures, base: Measures | None, before: float | None) -> float | None:
    if base is None:
        return detector.alone
    if before is None or base.prompts < MIN_PROMPTS:
        return None
    if detector.kind in ("part", "times"):
        return before * detector.margin
    chance = _noise(detector.name, measures, base) if detector.kind == "share" else 0.0
    limit = before + max(detector.margin, chance)
    # No share can exceed 1: if the base model does it nearly everywhere, more is no news.
    return limit if limit < 1 else None


def _noise(name: str, measures: Measures, base: Measures) -> float:
    return _chance_margin(getattr(measures, name), measures.prompts, getattr(base, name), base.prompts)


def _chance_margin(share: float, n: int, other: float, m: int) -> float:
    """Return how far two shares of so many answers differ by chance: three standard errors, the shares pooled."""
    pooled = (share * n + other * m) / (n + m)
    return ERRORS * sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))


def _language_finding(detector: Detector, measures: Measures, base: Measures | None) -> Finding:
    """Judge the share of answers in another language than most of the base model's, or else than most of its own."""
    n, m = sum(measures.languages.values()), sum(base.languages.values()) if base else 0
    if not n:
        return Finding(detector.name, None, None, None, False)
    main = main_language(base.languages if base and m else measures.languages)
    others = foreign_languages(measures.languages, main)
    example = f"{IN}{max(others, key=lambda name: others[name])}" if others else ""
    value = sum(others.values()) / n
    if base is None or min(n, m, measures.prompts, base.prompts) < MIN_PROMPTS:
        return Finding(detector.name, value, None, None, False, example=example)
    before = sum(foreign_languages(base.languages, main).values()) / m
    limit = before + max(detector.margin, _chance_margin(value, min(n, measures.prompts), before, min(m, base.prompts)))
    return Finding(detector.name, value, before, limit if limit < 1 else None, value > limit, example=example)


Values: TypeAlias = tuple[int | None, float | None, float | None]


def _values(name: str, measures: Measures, base: Measures | None) -> Values:
    """Return (of so many words or bytes, the model's number, the base's). Clusters are counted per answer."""
    if name == "clusters":
        return None, measures.clusters / measures.answers, base.clusters / base.answers if base else None
    if name in ("distinct", "gzip"):
        return _at_shared_amount(_amounts(name, measures), _amounts(name, base) if base else None)
    return None, getattr(measures, name), getattr(base, name) if base else None


def _at_shared_amount(amounts_of_model: Mapping[int, float], amounts_of_base: Mapping[int, float] | None) -> Values:
    """Return both numbers at the largest amount of text that both have."""
    amounts = amounts_of_model.keys() & amounts_of_base.keys() if amounts_of_base else amounts_of_model.keys()
    if not amounts:
        return None, None, None
    most = max(amounts)
    return most, amounts_of_model[most], amounts_of_base[most] if amounts_of_base else None


def _amounts(name: str, measures: Measures) -> Mapping[int, float]:
    if name == "gzip":
        return measures.gzip
    return {tokens: shares[1] for tokens, shares in measures.distinct.items()}
