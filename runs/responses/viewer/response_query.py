"""Parsing of the response query in an address: the selected rows and their order.

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
from runs.responses.viewer.annotations import PickOptions, sources
from runs.responses.viewer.correctness import CORRECTNESS
from workers.analysis.quadrants import QUADRANTS

RANGES = {
    "reward": _("reward"), "cost": _("cost"), "words": _("words"), "ratio": _("words relative to the pinned column"),
    "dreward": _("reward difference from the pinned column"), "dcost": _("cost difference from the pinned column"),
}  # fmt: skip
FLAGS = {
    "truncated": _("truncated"), "leak": _("plays both roles"), "refusal": _("refuses"),
    "duplicate": _("same response to other prompts"), "empty": _("empty"),
}  # fmt: skip
CHANGES = {
    "text": _("different text from the pinned column"), "quadrant": _("different quadrant from the pinned column"),
    "safer": _("safe where the pinned column is not"), "unsafer": _("unsafe where the pinned column is safe"),
    "corrected": _("right where the pinned column is not"), "broken": _("not right where the pinned column is"),
}  # fmt: skip
SORTS = {
    "row": _("row of the data set"), "reward": _("reward"), "cost": _("cost"), "words": _("words"),
    "dreward": _("reward difference from the pinned column"), "dcost": _("cost difference from the pinned column"),
    "ratio": _("words relative to the pinned column"), "reward_spread": _("range of the columns' rewards"),
    "cost_spread": _("range of the columns' costs"), "difference": _("largest difference from the pinned column"),
}  # fmt: skip
RELATIVE = ("ratio", "dreward", "dcost")
CHANGES_OF_CORRECTNESS = ("corrected", "broken")
WHERE = {"answers": _("in the responses"), "prompts": _("in the prompts"), "both": _("in both")}
AS = {"words": _("these words"), "regex": _("a regular expression")}
MAX_TEXT_LENGTH = 200
MAX_CORNERS = 60
Span = tuple[float | None, float | None]
Corners = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class ResponseQuery:
    """A query: filters and order of rows. `scope`: any, all, or a column's letter, in which the filters must hold."""

    scope: str = "any"
    ranges: Mapping[str, Span] = field(default_factory=dict)
    flags: Mapping[str, bool] = field(default_factory=dict)
    quadrants: tuple[str, ...] = ()
    correctness: tuple[str, ...] = ()
    """Keys of CORRECTNESS of which the response has one."""
    categories: tuple[str, ...] = ()
    """Categories of which the prompt has at least one."""
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
    source_flags: Mapping[str, bool] = field(default_factory=dict)
    """Flags of annotation sources."""
    picked: Mapping[str, str] = field(default_factory=dict)
    """Picked options of annotation sources."""
    samples: bool = False
    problems: tuple[str, ...] = ()
    """Problems that invalidate the selection, so that no row is shown."""
    notices: tuple[str, ...] = ()
    """Problems of the order alone."""

    @property
    def is_relative(self) -> bool:
        """Return whether a condition compares a column with the pinned one, which itself cannot meet it then."""
        return bool(self.change or self.source_flags) or any(name in RELATIVE for name in self.ranges)

    @property
    def needs_correctness(self) -> bool:
        """Return whether a condition needs the correctness of responses, which no index holds."""
        return bool(self.correctness) or self.change in CHANGES_OF_CORRECTNESS

    @property
    def is_filtering(self) -> bool:
        """Return whether any filter limits the rows."""
        filters = (
            self.ranges, self.flags, self.source_flags, self.quadrants, self.correctness, self.categories, self.change,
            self.lasso, self.text,
        )  # fmt: skip
        return any(filters) or self.same is not None


def parse_response_query(
    query: QueryDict,
    letters: Sequence[str],
    scorers: Collection[str] = (),
    picked: Mapping[str, PickOptions] | None = None,
    categories: Collection[str] = (),
) -> ResponseQuery:
    """Return the query in an address about columns with these letters, with its problems.

    picked: the options that annotation sources offer for these columns, by name; categories: the prompts' categories.
    """
    reader = _ParameterReader(query)
    sorts = [*SORTS, *viewer_annotations.sorts()]
    order = _ParameterReader(query)
    sort = order.choice("sort", [*sorts, *(f"-{name}" for name in sorts)], "row")
    quadrants = reader.choices_in("quadrant", QUADRANTS)
    correctness = reader.choices_in("correctness", CORRECTNESS)
    return ResponseQuery(
        scope=reader.choice("in", ("any", "all", *letters), "any"),
        ranges={name: span for name in RANGES if (span := reader.span(name)) != (None, None)},
        flags=reader.flags(FLAGS), source_flags=reader.flags(viewer_annotations.flags()),
        picked=reader.picks(picked or {}),
        quadrants=quadrants, correctness=correctness, categories=reader.choices_in("category", categories),
        change=reader.choice("change", ("", *CHANGES), ""), same=reader.integer("same"),
        lasso=reader.corners("lasso"), text=reader.text("q"), where=reader.choice("where", WHERE, "answers"),
        regex=reader.choice("as", AS, "words") == "regex", sort=sort.removeprefix("-"), descending=sort.startswith("-"),
        of=reader.choice("of", ("", *letters), ""),
        scorer=reader.choice("scores", ("", *scorers), ""), samples=reader.choice("samples", ("", "all"), "") == "all",
        problems=tuple(reader.problems),
        notices=tuple(gettext("%(problem)s Sorted by row.") % {"problem": problem} for problem in order.problems),
    )  # fmt: skip


class _ParameterReader:
    """Reader of parameters that collects their problems."""

    def __init__(self, query: QueryDict) -> None:
        self._query = query
        self.problems: list[str] = []

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        value = self._query.get(name, default)
        if value in choices:
            return value
        self.problems.append(must_be_one_of(name, choices, value))
        return default

    def flags(self, names: Collection[str]) -> dict[str, bool]:
        """Return the flags that the address sets: True if the flag must hold, False if it must not."""
        return {name: value == "yes" for name in names if (value := self.choice(name, ("", "yes", "no"), ""))}

    def choices_in(self, name: str, choices: Collection[str]) -> tuple[str, ...]:
        values = self._query.getlist(name)
        for value in values:
            if value not in choices:
                self.problems.append(must_be_one_of(name, choices, value))
        return tuple(choice for choice in choices if choice in values)

    def picks(self, offered: Mapping[str, PickOptions]) -> dict[str, str]:
        """Return the picked values of all sources, including sources that offer no options for these columns."""
        names = dict.fromkeys([*(name for source in sources() for name in source.picks), *offered])
        options = {name: offered[name].options if name in offered else () for name in names}
        return {name: self.choice(name, ("", *options[name]), "") for name in names}

    def span(self, name: str) -> Span:
        return self._number(f"{name}_min"), self._number(f"{name}_max")

    def integer(self, name: str) -> int | None:
        value = self._query.get(name, "")
        if not value:
            return None
        if value.removeprefix("-").isascii() and value.removeprefix("-").isdecimal() and len(value) < 21:
            number = int(value)
            if -(2**63) <= number < 2**63:
                return number
        self._add_problem(name, gettext("a whole number"), value)
        return None

    def text(self, name: str) -> str:
        value = self._query.get(name, "").strip()
        if len(value) > MAX_TEXT_LENGTH or "\x00" in value:
            self._add_problem(
                name, gettext("text of at most %(most)s characters") % {"most": MAX_TEXT_LENGTH}, value[:20]
            )
            return ""
        return value

    def corners(self, name: str) -> Corners:
        """Parse `x,y,x,y,…`: reward and cost of at least three corners."""
        value = self._query.get(name, "")
        numbers = [_finite(word) for word in value.split(",")] if value else []
        finite = [number for number in numbers if number is not None]
        if (
            len(finite) == len(numbers)
            and len(numbers) % 2 == 0
            and len(numbers) // 2 in (0, *range(3, MAX_CORNERS + 1))
        ):
            return tuple(zip(finite[::2], finite[1::2], strict=True))
        rule = gettext("3 to %(most)s corners, each reward,cost as numbers") % {"most": MAX_CORNERS}
        self._add_problem(name, rule, value[:40])
        return ()

    def _number(self, name: str) -> float | None:
        value = self._query.get(name, "").strip()
        number = _finite(value)
        if value and number is None:
            self._add_problem(name, gettext("a number"), value)
        return number

    def _add_problem(self, name: str, rule: str, value: str) -> None:
        message = gettext("%(name)s must be %(rule)s, not %(value)s.")
        self.problems.append(message % {"name": name, "rule": rule, "value": repr(value[:40])})


def _finite(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
