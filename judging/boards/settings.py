"""Settings of a board, such as the verdicts that it counts, and their form in the board's URL."""

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
"""Value in place of a seed: the order of verdicts is not shuffled."""
FAILED = ("tie", "left-out")
IDENTICAL = ("left-out", "tie")
DIGITS = 9
"""Number of significant digits of a number in URLs."""


@dataclass(frozen=True)
class VerdictFilter:
    """Selection of verdicts: all, those of voters, those of judges that are not people, or those of one such judge.

    `str` returns the form in URLs and snapshots: all, people, judges, judge-7.
    """

    kind: str = ALL
    judge: int | None = None

    def __str__(self) -> str:
        return self.kind if self.judge is None else f"judge-{self.judge}"

    @classmethod
    def of(cls, word: str) -> VerdictFilter:
        """Parse the result of `str`. Raise ValueError, with the choices, if it is unknown."""
        if word in KINDS:
            return cls(word)
        if found := ONE.fullmatch(word):
            return cls(JUDGES, int(found[1]))
        raise ValueError(
            gettext("Whose verdicts is one of %(kinds)s, or judge- and a number, not %(word)s.")
            % {"kinds": ", ".join(KINDS), "word": repr(word[:40])}
        )

    def among(self, verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
        """Return the verdicts that this filter selects."""
        if self.judge is not None:
            return verdicts.filter(judge=self.judge)
        return verdicts if self.kind == ALL else verdicts.filter(judge__isnull=self.kind == PEOPLE)


EVERYBODY = VerdictFilter()
SEEDS = (AS_GIVEN, 2**31 - 1)


@dataclass(frozen=True)
class BoardSettings:
    """Settings of a leaderboard: which verdicts count and how they become ratings.

    whose: the verdicts that count. category: the category of prompts, empty for all. ties, unit, level, anchor, prior
    and init have the meaning that they have in `judging.stats.ratings`; with an empty anchor, the mean rating is init.
    swap: one of agreement's POLICIES. threshold: scores that differ by no more are a tie; None means that each
    verdict's own outcome counts. k, shuffle (AS_GIVEN: no shuffling) and failed, one of FAILED, apply to online Elo
    alone. identical: one of IDENTICAL, whether each pair of identical responses counts as a tie; verdicts on such pairs
    never count.
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
        """Return all settings that are not None, in the form that snapshots store."""
        said = asdict(self) | {"whose": str(self.whose)}
        return {name: value for name, value in said.items() if value is not None}

    @property
    def query(self) -> str:
        """Return the settings that differ from their defaults, as a URL query."""
        said = self.to_json()
        other = {field.name: said[field.name] for field in fields(self) if getattr(self, field.name) != field.default}
        return urlencode({name: plain(value) if isinstance(value, float) else value for name, value in other.items()})

    @property
    def level_words(self) -> str:
        """Return the level of intervals in per cent, as a text."""
        return f"{100 * self.level:g}\N{NARROW NO-BREAK SPACE}%"

    @property
    def is_usual(self) -> bool:
        """Return whether all settings are the defaults. Only their board is updated automatically and has a history."""
        return self == USUAL

    @property
    def asked(self) -> RatingOptions:
        """Return the options that `judging.stats.ratings` takes."""
        how = Resampling(unit=self.unit)
        return RatingOptions(self.ties, self.anchor or None, self.prior, self.level, self.init, how)

    @property
    def elo(self) -> Elo:
        """Return the options of online Elo."""
        shuffle = None if self.shuffle == AS_GIVEN else self.shuffle
        return Elo(self.k, init=self.init, shuffle=shuffle, missing_as_tie=self.failed == FAILED[0])

    @classmethod
    def of(
        cls,
        said: Mapping[str, Any],
        contestants: Mapping[str, Any] | None = None,
        categories: Mapping[str, Any] | None = None,
    ) -> BoardSettings:
        """Parse the parameters of a URL or the result of `to_json`; a missing setting has its default.

        Raise ValueError, with the choices, if a value is invalid, also if the anchor is not one of `contestants` or the
        category is not one of `categories`.
        """
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
    """Return a number as URLs and forms write it: 1000, 0.5."""
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
