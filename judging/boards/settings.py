"""Settings of a board, such as the verdicts that it counts.

`BoardSettings` is their only list. The form, the parameters of the API and of URLs, the options of `manage.py ratings`,
exports and the key of stored boards are made from its fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.setting import Setting, plain_number, require, setting_field
from judging.models import Verdict
from judging.stats.agreement import POLICIES
from judging.stats.ratings import TIES, UNITS, Elo, RatingOptions, Resampling

ALL, PEOPLE, JUDGES = "all", "people", "judges"
KINDS = (ALL, PEOPLE, JUDGES)
JUDGE_PATTERN = re.compile(r"judge-([1-9][0-9]{0,17})")
NO_SHUFFLE = -1
"""Value in place of a seed: the order of verdicts is not shuffled."""


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


@dataclass(frozen=True)
class BoardSettings:
    """Settings of a leaderboard: which verdicts count and how they become ratings.

    ties, unit, level, anchor, prior and init have the meaning that they have in `judging.stats.ratings`; with an empty
    anchor, the mean rating is init. threshold: None means that each verdict's own outcome counts. k, shuffle
    (NO_SHUFFLE: the verdicts' own order) and failed apply to online Elo alone. identical: whether each pair of
    identical responses counts as a tie; verdicts on such pairs never count.
    """

    whose: VerdictFilter = setting_field(ALL_VERDICTS, _("Verdicts of"), parse=VerdictFilter.parse)  # noqa: RUF009  (a field)
    category: str = setting_field("", _("Category of prompts"), parse=lambda text: text[:200])
    ties: str = setting_field(
        TIES[0], _("Ties"), option="--ties",
        choices=dict(zip(TIES, (
            _("half a win for each"), _("their own strength (Davidson; another scale)"),
        ), strict=True)),
    )  # fmt: skip
    swap: str = setting_field(
        "as-is", _("Two games of a pair with swapped sides"), option="--swap",
        choices=dict(zip(POLICIES, (
            _("every game is a vote"), _("half a vote each"), _("one vote; a tie if they differ"),
            _("one vote, only if they agree"),
        ), strict=True)),
    )  # fmt: skip
    unit: str = setting_field(
        "prompt", _("Intervals are clustered by"), option="--unit",
        choices=dict(zip(UNITS, (
            _("prompts"), _("voters and judges"), _("prompts, and voters and judges"), _("single votes (too narrow)"),
        ), strict=True)),
    )  # fmt: skip
    level: float = setting_field(0.95, _("Level of intervals"), bounds=(0.5, 0.999), option="--level")
    anchor: str = setting_field("", _("Contestant at the initial rating"), option="--anchor")
    prior: float = setting_field(
        0.0, _("Prior"),
        _("Wins added in both directions to every pair that met. 0.5 gives every contestant a rating."),
        bounds=(0.0, 100.0), option="--prior",
    )  # fmt: skip
    init: float = setting_field(
        1000.0, _("Initial rating"), _("The mean of the ratings, and the start of online Elo."),
        bounds=(0.0, 10_000.0), option="--init",
    )  # fmt: skip
    threshold: float | None = setting_field(
        None, _("Tie threshold"),
        _("Scores that differ by at most this are a tie. Empty: as each judge or file decided."),
        bounds=(0.0, 100.0), always_stored=False,
    )  # fmt: skip
    k: float = setting_field(
        32.0, _("K of online Elo"),
        _("The most points that one verdict can move. Published tables use 32, or 4."),
        bounds=(0.1, 1000.0), option="--k",
    )  # fmt: skip
    shuffle: int = setting_field(
        123, _("Seed of online Elo"), _("Shuffles the verdicts. −1 keeps their original order."),
        bounds=(NO_SHUFFLE, 2**31 - 1), option="--shuffle-seed",
    )  # fmt: skip
    failed: str = setting_field(
        "tie", _("Failed judgments in online Elo"),
        choices={"tie": _("ties, as published"), "left-out": _("left out")},
    )  # fmt: skip
    identical: str = setting_field(
        "left-out", _("Identical responses"), choices={"left-out": _("left out"), "tie": _("one tie per pair")}
    )

    def to_json(self) -> dict[str, Any]:
        """Return the settings in the form that snapshots store and that identifies a board."""
        values = {name: getattr(self, name) for name in SETTINGS}
        return {
            name: str(value) if isinstance(value, VerdictFilter) else value
            for name, value in values.items()
            if SETTINGS[name].always_stored or value != SETTINGS[name].default
        }

    @property
    def query(self) -> str:
        """Return the settings that differ from their defaults, as a URL query."""
        changed = {
            name: value for name, value in self.to_json().items() if getattr(self, name) != SETTINGS[name].default
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
        shuffle = None if self.shuffle <= NO_SHUFFLE else self.shuffle
        return Elo(self.k, init=self.init, shuffle=shuffle, missing_as_tie=self.failed == "tie")

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
        settings = cls(**{name: setting.read(name, params.get(name)) for name, setting in SETTINGS.items()})
        if contestants is not None and settings.anchor:
            require("anchor", settings.anchor, contestants)
        if categories is not None and settings.category:
            if not categories:
                raise ValueError(gettext("category must be empty: no prompt of this tournament has one."))
            require("category", settings.category, categories)
        return settings


SETTINGS: Mapping[str, Setting] = {own.name: own.metadata["setting"] for own in fields(BoardSettings)}
"""Name of each setting in URLs, the API and snapshots -> the setting, in the order of the form."""
DEFAULT_SETTINGS = BoardSettings()
