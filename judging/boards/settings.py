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
JUDGE_PATTERN = re.compile(r"judge-([1-9][0-9]{0,17})")
LEVELS = (0.5, 0.999)
PRIORS = (0.0, 100.0)
INITS = (0.0, 10_000.0)
THRESHOLDS = (0.0, 100.0)
KS = (0.1, 1000.0)
NO_SHUFFLE = -1
"""Value in place of a seed: the order of verdicts is not shuffled."""
FAILED = ("tie", "left-out")
IDENTICAL = ("left-out", "tie")
DIGITS = 9
"""Number of significant digits of a number in URLs."""


@dataclass(frozen=True)
class VerdictFilter:
    """Selection of verdicts: all, those of voters, those of judges that are not human, or those of one such judge.

    `str` returns the form in URLs and snapshots: all, people, judges, judge-7.
    """

    kind: str = ALL
    judge: int | None = None

    def __str__(self) -> str:
        return self.kind if self.judge is None else f"judge-{self.judge}"

    @classmethod
    def parse(cls, text: str) -> VerdictFilter:
        """Parse the result of `str`. Raise ValueError, with the choices, if it is unknown."""
        if text in KINDS:
            return cls(text)
        if match := JUDGE_PATTERN.fullmatch(text):
            return cls(JUDGES, int(match[1]))
        raise ValueError(
            gettext("whose must be one of %(kinds)s, or judge- and a number, not %(word)s.")
            % {"kinds": ", ".join(KINDS), "word": repr(text[:40])}
        )

    def apply(self, verdicts: QuerySet[Verdict]) -> QuerySet[Verdict]:
        """Return the verdicts that this filter selects."""
        if self.judge is not None:
            return verdicts.filter(judge=self.judge)
        return verdicts if self.kind == ALL else verdicts.filter(judge__isnull=self.kind == PEOPLE)


ALL_VERDICTS = VerdictFilter()
SEEDS = (NO_SHUFFLE, 2**31 - 1)


@dataclass(frozen=True)
class BoardSettings:
    """Settings of a leaderboard: which verdicts count and how they become ratings.

    whose: the verdicts that count, as a filter. category: the category of prompts, empty for all. ties, unit, level,
    anchor, prior and init have the meaning that they have in `judging.stats.ratings`; with an empty anchor, the
    mean rating is init. swap: one of agreement's POLICIES. threshold: scores that differ by no more are a tie; None
    means that each verdict's own outcome counts. k, shuffle (NO_SHUFFLE: the verdicts' own order) and failed, one of
    FAILED, apply to online Elo alone. identical: one of IDENTICAL, whether each pair of identical responses counts as a
    tie; verdicts on such pairs never count.
    """

    whose: VerdictFilter = ALL_VERDICTS
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
        values = asdict(self) | {"whose": str(self.whose)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def query(self) -> str:
        """Return the settings that differ from their defaults, as a URL query."""
        values = self.to_json()
        changed = {
            field.name: values[field.name] for field in fields(self) if getattr(self, field.name) != field.default
        }
        return urlencode(
            {name: plain_number(value) if isinstance(value, float) else value for name, value in changed.items()}
        )

    @property
    def level_text(self) -> str:
        """Return the level of intervals in per cent, as a text."""
        return f"{100 * self.level:g}\N{NARROW NO-BREAK SPACE}%"

    @property
    def unit_text(self) -> str:
        """Return the unit by which standard errors are clustered and that resamples draw, in the reader's language."""
        return gettext(UNITS[self.unit])

    @property
    def is_default(self) -> bool:
        """Return whether all settings are the defaults. Only their board is updated automatically and has a history."""
        return self == DEFAULT_SETTINGS

    @property
    def rating_options(self) -> RatingOptions:
        """Return the options that `judging.stats.ratings` takes."""
        resampling = Resampling(unit=self.unit)
        return RatingOptions(self.ties, self.anchor or None, self.prior, self.level, self.init, resampling)

    @property
    def elo(self) -> Elo:
        """Return the options of online Elo."""
        shuffle = None if self.shuffle == NO_SHUFFLE else self.shuffle
        return Elo(self.k, init=self.init, shuffle=shuffle, missing_as_tie=self.failed == FAILED[0])

    @classmethod
    def parse(
        cls,
        params: Mapping[str, Any],
        contestants: Mapping[str, Any] | None = None,
        categories: Mapping[str, Any] | None = None,
    ) -> BoardSettings:
        """Parse the parameters of a URL or the result of `to_json`; a missing setting has its default.

        Raise ValueError, with the choices, if a value is invalid, also if the anchor is not one of `contestants` or the
        category is not one of `categories`.
        """
        settings = cls(
            VerdictFilter.parse(str(params.get("whose") or ALL_VERDICTS)),
            str(params.get("category") or "")[:200],
            _parse_choice(params, "ties", TIES, cls.ties),
            _parse_choice(params, "swap", POLICIES, cls.swap),
            _parse_choice(params, "unit", UNITS, cls.unit),
            _parse_number(params, "level", *LEVELS, cls.level),
            str(params.get("anchor") or ""),
            _parse_number(params, "prior", *PRIORS, cls.prior),
            _parse_number(params, "init", *INITS, cls.init),
            _parse_number(params, "threshold", *THRESHOLDS, 0.0) if params.get("threshold") not in (None, "") else None,
            _parse_number(params, "k", *KS, cls.k),
            _parse_whole_number(params, "shuffle", *SEEDS, cls.shuffle),
            _parse_choice(params, "failed", FAILED, cls.failed),
            _parse_choice(params, "identical", IDENTICAL, cls.identical),
        )
        if contestants is not None and settings.anchor:
            _parse_choice(params, "anchor", contestants, "")
        if categories is not None and settings.category:
            if not categories:
                raise ValueError(gettext("category must be empty: no prompt of this tournament has one."))
            _parse_choice(params, "category", categories, "")
        return settings


DEFAULT_SETTINGS = BoardSettings()


def plain_number(number: float) -> str:
    """Return a number as URLs and forms write it: 1000, 0.5."""
    return f"{number:.{DIGITS}g}" if abs(number) < 10**DIGITS else f"{number:.0f}"


def _parse_choice(params: Mapping[str, Any], name: str, choices: Any, default: str) -> str:
    value = str(params.get(name) or default)
    if value not in choices:
        message = gettext("%(name)s must be one of %(choices)s, not %(value)r.")
        raise ValueError(message % {"name": name, "choices": ", ".join(choices), "value": value[:100]})
    return value


def _parse_number(params: Mapping[str, Any], name: str, low: float, high: float, default: float) -> float:
    value = params.get(name)
    try:
        number = default if value in (None, "") else float(str(value))
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        message = gettext("%(name)s must be a number from %(low)s to %(high)s, not %(value)r.")
        limits = {"low": plain_number(low), "high": plain_number(high)}
        raise ValueError(message % {"name": name, **limits, "value": str(value)[:40]})
    return float(plain_number(number))


def _parse_whole_number(params: Mapping[str, Any], name: str, low: int, high: int, default: int) -> int:
    value = params.get(name)
    try:
        number = default if value in (None, "") else int(str(value))
    except ValueError:
        number = high + 1
    if not low <= number <= high:
        message = gettext("%(name)s must be a whole number from %(low)s to %(high)s, not %(value)r.")
        raise ValueError(message % {"name": name, "low": low, "high": high, "value": str(value)[:40]})
    return number
