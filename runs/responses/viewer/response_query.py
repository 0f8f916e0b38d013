"""Parse from an address which rows of responses it selects, and in which order.

An invalid parameter is reported with its rule or its valid choices.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.http import must_be_one_of
from runs.responses.viewer import annotations as viewer_annotations
from runs.responses.viewer.annotations import Picked, tellers
from workers.analysis.quadrants import QUADRANTS

RANGES = {
    "reward": _("reward"), "cost": _("cost"), "words": _("words"), "ratio": _("words, times the pinned column's"),
    "dreward": _("reward over the pinned column's"), "dcost": _("cost over the pinned column's"),
}  # fmt: skip
FLAGS = {
    "truncated": _("truncated"), "leak": _("plays both roles"), "refusal": _("refuses"),
    "duplicate": _("same answer to other prompts"), "empty": _("empty"),
}  # fmt: skip
CHANGES = {
    "text": _("another text than the pinned column"), "quadrant": _("another quadrant than the pinned column"),
    "safer": _("safe where the pinned column is not"), "unsafer": _("unsafe where the pinned column is safe"),
}  # fmt: skip
SORTS = {
    "row": _("row of the data set"), "reward": _("reward"), "cost": _("cost"), "words": _("words"),
    "dreward": _("reward over the pinned column's"), "dcost": _("cost over the pinned column's"),
    "ratio": _("words, times the pinned column's"), "reward_spread": _("how far the columns' rewards lie apart"),
    "cost_spread": _("how far the columns' costs lie apart"),
}  # fmt: skip
RELATIVE = ("ratio", "dreward", "dcost")
WHERE = {"answers": _("in the answers"), "prompts": _("in the prompts"), "both": _("in both")}
AS = {"words": _("these words"), "regex": _("a regular expression")}
TEXT_AT_MOST = 200
CORNERS_AT_MOST = 60
Span = tuple[float | None, float | None]
Corners = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class ResponseQuery:
    """Which rows, and in which order. `scope`: any, all, or a column's letter, in which what follows must hold."""

    scope: str = "any"
    ranges: Mapping[str, Span] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)
    quadrants: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Of the prompt, one of them at least."""
    change: str = ""
    same: int | None = None
    lasso: Corners = ()
    text: str = ""
    where: str = "answers"
    regex: bool = False
    sort: str = "row"
    descending: bool = False
    of: str = ""
    scorer: str = ""
    told: Mapping[str, bool] = field(default_factory=dict)
    """Flags of those who tell more of answers."""
    picked: Mapping[str, str] = field(default_factory=dict)
    """Which of what they tell."""
    samples: bool = False
    problems: tuple[str, ...] = ()
    """What selects rows that there are not: none is to be shown."""
    notices: tuple[str, ...] = ()
    """What is wrong with the order alone."""

    @property
    def is_relative(self) -> bool:
        """True where a condition holds a column against the pinned one, which itself can then not meet it."""
        return bool(self.change or self.told) or any(name in RELATIVE for name in self.ranges)

    @property
    def is_asking(self) -> bool:
        """True where not all rows are wanted."""
        found = (self.ranges, self.flags, self.told, self.quadrants, self.categories, self.change, self.lasso)
        return any(found) or bool(self.text) or self.same is not None


def asked_of(
    query: QueryDict,
    letters: Sequence[str],
    scorers: Collection[str] = (),
    picked: Mapping[str, Picked] | None = None,
    categories: Collection[str] = (),
) -> ResponseQuery:
    """Return the query that an address makes about columns with these letters, with its problems.

    picked: the choices that tellers offer for these columns, by name; categories: those of the columns' prompts.
    """
    reader = _Reader(query)
    sorts = [*SORTS, *viewer_annotations.sorts()]
    order = _Reader(query)
    sort = order.one("sort", [*sorts, *(f"-{name}" for name in sorts)], "row")
    quadrants = reader.many("quadrant", QUADRANTS)
    return ResponseQuery(
        scope=reader.one("in", ("any", "all", *letters), "any"),
        ranges={name: span for name in RANGES if (span := reader.span(name)) != (None, None)},
        flags=reader.flags(FLAGS), told=reader.flags(viewer_annotations.flags()),
        picked=reader.picks(picked or {}),
        quadrants=quadrants, categories=reader.many("category", categories),
        change=reader.one("change", ("", *CHANGES), ""), same=reader.whole("same"),
        lasso=reader.corners("lasso"), text=reader.text("q"), where=reader.one("where", WHERE, "answers"),
        regex=reader.one("as", AS, "words") == "regex", sort=sort.removeprefix("-"), descending=sort.startswith("-"),
        of=reader.one("of", ("", *letters), ""),
        scorer=reader.one("scores", ("", *scorers), ""), samples=reader.one("samples", ("", "all"), "") == "all",
        problems=tuple(reader.problems),
        notices=tuple(gettext("%(problem)s Sorted by row.") % {"problem": problem} for problem in order.problems),
    )  # fmt: skip


class _Reader:
    """Reads parameters, and remembers what is wrong with them."""

    def __init__(self, query: QueryDict) -> None:
        self._query = query
        self.problems: list[str] = []

    def one(self, name: str, choices: Collection[str], default: str) -> str:
        value = self._query.get(name, default)
        if value in choices:
            return value
        self.problems.append(must_be_one_of(name, choices, value))
        return default

    def flags(self, names: Collection[str]) -> dict[str, bool]:
        """Return the flags that the address sets: True if the flag must hold, False if it must not."""
        return {name: said == "yes" for name in names if (said := self.one(name, ("", "yes", "no"), ""))}

    def many(self, name: str, choices: Collection[str]) -> tuple[str, ...]:
        values = self._query.getlist(name)
        for value in values:
            if value not in choices:
                self.problems.append(must_be_one_of(name, choices, value))
        return tuple(choice for choice in choices if choice in values)

    def picks(self, offered: Mapping[str, Picked]) -> dict[str, str]:
        """Return what is picked, of those too of which these columns offer nothing to pick."""
        names = dict.fromkeys([*(name for teller in tellers() for name in teller.picks), *offered])
        options = {name: offered[name].options if name in offered else () for name in names}
        return {name: self.one(name, ("", *options[name]), "") for name in names}

    def span(self, name: str) -> Span:
        return self._number(f"{name}_min"), self._number(f"{name}_max")

    def whole(self, name: str) -> int | None:
        value = self._query.get(name, "")
        if not value:
            return None
        if value.removeprefix("-").isascii() and value.removeprefix("-").isdecimal() and len(value) < 21:
            number = int(value)
            if -(2**63) <= number < 2**63:
                return number
        self._wrong(name, gettext("a whole number"), value)
        return None

    def text(self, name: str) -> str:
        value = self._query.get(name, "").strip()
        if len(value) > TEXT_AT_MOST or "\x00" in value:
            self._wrong(name, gettext("text of at most %(most)s characters") % {"most": TEXT_AT_MOST}, value[:20])
            return ""
        return value

    def corners(self, name: str) -> Corners:
        """`x,y,x,y,…`: reward and cost of at least three corners."""
        value = self._query.get(name, "")
        numbers = [_finite(word) for word in value.split(",")] if value else []
        known = [number for number in numbers if number is not None]
        if (
            len(known) == len(numbers)
            and len(numbers) % 2 == 0
            and len(numbers) // 2 in (0, *range(3, CORNERS_AT_MOST + 1))
        ):
            return tuple(zip(known[::2], known[1::2], strict=True))
        few = gettext("reward,cost of 3 to %(most)s corners, all of them numbers") % {"most": CORNERS_AT_MOST}
        self._wrong(name, few, value[:40])
        return ()

    def _number(self, name: str) -> float | None:
        value = self._query.get(name, "").strip()
        number = _finite(value)
        if value and number is None:
            self._wrong(name, gettext("a number"), value)
        return number

    def _wrong(self, name: str, rule: str, value: str) -> None:
        message = gettext("%(name)s must be %(rule)s, not %(value)s.")
        self.problems.append(message % {"name": name, "rule": rule, "value": repr(value[:40])})


def _finite(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
