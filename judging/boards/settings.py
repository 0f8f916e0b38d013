"""The settings of a board, which verdicts it counts among them, as its address spells them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils.translation import gettext

from judging.models import Verdict
from judging.stats.agreement import POLICIES
from judging.stats.ratings import TIES, UNITS, Elo, RatingOptions, Resampling

ALL, PEOPLE, JUDGES = "all", "people", "judges"
KINDS = (ALL, PEOPLE, JUDGES)
ONE = re.compile(r"judge-([1-9][0-9]{0,17})")
LEVELS = (0.5, 0.999)
PRIORS = (0.0, 100.0)
INITS = (0.0, 10_000.0)
THRESHOLDS = (0.0, 100.0)
KS = (0.1, 1000.0)
AS_GIVEN = -1
"""In place of a seed: the order of verdicts is not shuffled."""
FAILED = ("tie", "left-out")
IDENTICAL = ("left-out", "tie")
DIGITS = 9
"""Of a number, as addresses say them."""


@dataclass(frozen=True)
class VerdictFilter:
    """Everybody's, people's, those of judges that are no people, or of one of these alone.

    `str` says it as addresses and snapshots have it: all, people, judges, judge-7.
    """

    kind: str = ALL
    judge: int | None = None

    def __str__(self) -> str:
        return self.kind if self.judge is None else f"judge-{self.judge}"

    @classmethod
    def of(cls, word: str) -> VerdictFilter:
        """What `str` said. Raises ValueError naming the choices."""
        if word in KINDS:
            return cls(word)
        if found := ONE.fullmatch(word):
            return cls(JUDGES, int(found[1]))
        raise ValueError(
            gettext("Whose verdicts is one of %(kinds)s, or judge- and a number, not %(word)s.")
            % {"kinds": ", ".join(KINDS), "word": repr(word[:40])}
        )

    def among(self, verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
        """Theirs of these verdicts."""
        if self.judge is not None:
            return verdicts.filter(judge=self.judge)
        return verdicts if self.kind == ALL else verdicts.filter(judge__isnull=self.kind == PEOPLE)


EVERYBODY = VerdictFilter()
SEEDS = (AS_GIVEN, 2**31 - 1)


@dataclass(frozen=True)
class BoardSettings:
    """Whose verdicts, on which prompts' category (all where it is empty), and how they become ratings.

    ties, unit, level, anchor (empty: nobody, the mean stands there), prior and init as `judging.stats.ratings` has
    them; swap is one of agreement's POLICIES. threshold: scores that differ by no more are a tie; None: as each verdict
    has it. k, shuffle (AS_GIVEN: none) and failed, one of FAILED, are of online Elo alone. identical, one of IDENTICAL:
    whether each pair of identical answers counts as a tie; what was said of them never does.
    """

    whose: VerdictFilter = EVERYBODY
    category: str = ""
    ties: str = TIES[0]
    swap: str = "as-is"
    unit: str = "prompt"
    level: float = 0.95
    anchor: str = ""
    prior: float = 0.0
    init: float = 1000.0
    threshold: float | None = None
    k: float = 32.0
    shuffle: int = 123
    failed: str = FAILED[0]
    identical: str = IDENTICAL[0]

    def to_json(self) -> dict[str, Any]:
        """All of it that was said, as snapshots keep it."""
        said = asdict(self) | {"whose": str(self.whose)}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def query(self) -> str:
        """What of it is not as usual, as an address says it."""
        said = self.to_json()
        other = {field.name: said[field.name] for field in fields(self) if getattr(self, field.name) != field.default}
        return urlencode({name: plain(value) if isinstance(value, float) else value for name, value in other.items()})

    @property
    def level_words(self) -> str:
        """The level of intervals as people say it."""
        return f"{100 * self.level:g}\N{NARROW NO-BREAK SPACE}%"

    @property
    def is_usual(self) -> bool:
        """The board that is kept by itself, over time."""
        return self == USUAL

    @property
    def asked(self) -> RatingOptions:
        """Its share of it that `judging.stats.ratings` asks for."""
        how = Resampling(unit=self.unit)
        return RatingOptions(self.ties, self.anchor or None, self.prior, self.level, self.init, how)

    @property
    def elo(self) -> Elo:
        """Its share of online Elo."""
        shuffle = None if self.shuffle == AS_GIVEN else self.shuffle
        return Elo(self.k, init=self.init, shuffle=shuffle, missing_as_tie=self.failed == FAILED[0])

    @classmethod
    def of(
        cls,
        said: Mapping[str, Any],
        contestants: Mapping[str, Any] | None = None,
        categories: Mapping[str, Any] | None = None,
    ) -> BoardSettings:
        """What an address or `to_json` said; what it does not say is as usual. Raises ValueError, with the choices,
        also for an anchor that is none of the contestants, and a category that is none of these."""
        how = cls(
            VerdictFilter.of(str(said.get("whose") or EVERYBODY)),
            str(said.get("category") or "")[:200],
            _one_of(said, "ties", TIES, cls.ties),
            _one_of(said, "swap", POLICIES, cls.swap),
            _one_of(said, "unit", UNITS, cls.unit),
            _between(said, "level", *LEVELS, cls.level),
            str(said.get("anchor") or ""),
            _between(said, "prior", *PRIORS, cls.prior),
            _between(said, "init", *INITS, cls.init),
            _between(said, "threshold", *THRESHOLDS, 0.0) if said.get("threshold") not in (None, "") else None,
            _between(said, "k", *KS, cls.k),
            _whole(said, "shuffle", *SEEDS, cls.shuffle),
            _one_of(said, "failed", FAILED, cls.failed),
            _one_of(said, "identical", IDENTICAL, cls.identical),
        )
        if contestants is not None and how.anchor:
            _one_of(said, "anchor", contestants, "")
        if categories is not None and how.category:
            if not categories:
                raise ValueError(gettext("category must be left out: no prompt here has one."))
            _one_of(said, "category", categories, "")
        return how


USUAL = BoardSettings()


def plain(number: float) -> str:
    """A number as addresses and forms say it: 1000, 0.5."""
    return f"{number:.{DIGITS}g}" if abs(number) < 10**DIGITS else f"{number:.0f}"


def _one_of(said: Mapping[str, Any], name: str, choices: Any, usual: str) -> str:
    value = str(said.get(name) or usual)
    if value not in choices:
        words = gettext("%(name)s must be one of %(choices)s, not %(value)r.")
        raise ValueError(words % {"name": name, "choices": ", ".join(choices), "value": value[:100]})
    return value


def _between(said: Mapping[str, Any], name: str, low: float, high: float, usual: float) -> float:
    value = said.get(name)
    try:
        number = usual if value in (None, "") else float(str(value))
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        words = gettext("%(name)s must be a number from %(low)s to %(high)s, not %(value)r.")
        ends = {"low": plain(low), "high": plain(high)}
        raise ValueError(words % {"name": name, **ends, "value": str(value)[:40]})
    return float(plain(number))


def _whole(said: Mapping[str, Any], name: str, low: int, high: int, usual: int) -> int:
    value = said.get(name)
    try:
        number = usual if value in (None, "") else int(str(value))
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        words = gettext("%(name)s must be a whole number from %(low)s to %(high)s, not %(value)r.")
        raise ValueError(words % {"name": name, "low": low, "high": high, "value": str(value)[:40]})
    return number
