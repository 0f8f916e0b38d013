"""Numbers of a set of answers against those of a base model's -> which of them speak of a collapse.

Hardly anything is judged alone: honest models repeat themselves too, and by how much depends on the task (that of this
project ends every answer with the same sentence). A share must exceed the base model's by a margin that matters and by
three standard errors of the difference, counted by prompts: samples of one prompt say nearly the same. Without a base
model it is only told where nine of ten answers are nearly the same, or begin so: small models that nobody has trained
yet answer half of all questions alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

from workers.analysis.collapse.languages import foreign, main_of
from workers.analysis.collapse.measures import IN, Measures

NEARLY_ALL = 0.9
ERRORS = 3.0
FEWEST = 5
"""Prompts: of answers to fewer nothing is said."""


@dataclass(frozen=True)
class Finding:
    """value, base: of the model and of its base, base None where there is none. limit: beyond it, it fires; None where
    nothing can be said. at: of so many words or bytes. fired: the value is beyond the limit. example: the name of what
    shows it, among the measures' examples."""

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
    """kind: share (of the answers, higher is worse), rise (another number from 0 to 1, likewise), times (what the
    base's may be multiplied with at most), part (of the base's, that must be left at least).
    alone: the limit without a base model, None where there is none. is_alarm: a collapse where it fires; the others
    only say that something changed, for better or worse."""

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


def findings(found: Measures, base: Measures | None) -> dict[str, Finding]:
    """What each detector says, in the order of DETECTORS."""
    return {detector.name: _finding(detector, found, base) for detector in DETECTORS}


def _finding(detector: Detector, found: Measures, base: Measures | None) -> Finding:
    if detector.name == "language":
        return _of_language(detector, found, base)
    at, value, before = _values(detector.name, found, base)
    limit = _limit(detector, found, base, before)
    if value is None or limit is None or found.prompts < FEWEST:
        return Finding(detector.name, value, before, None, False, at)
    return Finding(detector.name, value, before, limit, value < limit if detector.kind == "part" else value > limit, at)


def _limit(detector: Detector, found: Measures, base: Measures | None, before: float | None) -> float | None:
    if base is None:
        return detector.alone
    if before is None or base.prompts < FEWEST:
        return None
    if detector.kind in ("part", "times"):
        return before * detector.margin
    chance = _noise(detector.name, found, base) if detector.kind == "share" else 0.0
    limit = before + max(detector.margin, chance)
    # Nothing can be above it: of what the base model does nearly everywhere, more is no news.
    return limit if limit < 1 else None


def _noise(name: str, found: Measures, base: Measures) -> float:
    return _by_chance(getattr(found, name), found.prompts, getattr(base, name), base.prompts)


def _by_chance(share: float, n: int, other: float, m: int) -> float:
    """So far two shares of these many answers lie apart by chance: three standard errors, the shares pooled."""
    pooled = (share * n + other * m) / (n + m)
    return ERRORS * sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))


def _of_language(detector: Detector, found: Measures, base: Measures | None) -> Finding:
    """The share of answers in another language than most of the base model's, or else than most of its own."""
    n, m = sum(found.languages.values()), sum(base.languages.values()) if base else 0
    if not n:
        return Finding(detector.name, None, None, None, False)
    main = main_of(base.languages if base and m else found.languages)
    others = foreign(found.languages, main)
    shown = f"{IN}{max(others, key=lambda name: others[name])}" if others else ""
    value = sum(others.values()) / n
    if base is None or min(n, m, found.prompts, base.prompts) < FEWEST:
        return Finding(detector.name, value, None, None, False, example=shown)
    before = sum(foreign(base.languages, main).values()) / m
    limit = before + max(detector.margin, _by_chance(value, min(n, found.prompts), before, min(m, base.prompts)))
    return Finding(detector.name, value, before, limit if limit < 1 else None, value > limit, example=shown)


Values: TypeAlias = tuple[int | None, float | None, float | None]


def _values(name: str, found: Measures, base: Measures | None) -> Values:
    """(of so many words or bytes, the model's number, the base's). Clusters are counted per answer."""
    if name == "clusters":
        return None, found.clusters / found.answers, base.clusters / base.answers if base else None
    if name in ("distinct", "gzip"):
        return _at_the_same(_amounts(name, found), _amounts(name, base) if base else None)
    return None, getattr(found, name), getattr(base, name) if base else None


def _at_the_same(found: Mapping[int, float], base: Mapping[int, float] | None) -> Values:
    """Both at the largest amount of text that both have."""
    amounts = found.keys() & base.keys() if base else found.keys()
    if not amounts:
        return None, None, None
    most = max(amounts)
    return most, found[most], base[most] if base else None


def _amounts(name: str, found: Measures) -> Mapping[int, float]:
    if name == "gzip":
        return found.gzip
    return {tokens: shares[1] for tokens, shares in found.distinct.items()}
