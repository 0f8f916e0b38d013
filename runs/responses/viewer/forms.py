"""Build the fields of the viewer's form and the heads of its columns, with the current choices selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from runs.responses.viewer import annotations as viewer_annotations
from runs.responses.viewer.active_filters import having, staying
from runs.responses.viewer.annotations import Picked, tellers
from runs.responses.viewer.columns import COLUMNS_AT_MOST, Column, Columns
from runs.responses.viewer.queries import Sum
from runs.responses.viewer.response_query import AS, CHANGES, FLAGS, RANGES, SORTS, WHERE, ResponseQuery
from workers.analysis.quadrants import QUADRANTS

STAYS = ("run", "pin", "diff", "samples", "scores", "experiment")
"""What stays where nothing more is asked."""
KEPT = (*(name for name in STAYS if name != "scores"), "lasso", "same")
"""What the form has no field for."""
SIGNS = (("", "↑"), ("-", "↓"))


@dataclass(frozen=True)
class Head:
    """Hold a column's head: the summary of its responses, and the addresses that change the column."""

    column: Column
    sum: Sum
    is_pinned: bool
    pin: str
    remove: str
    earlier: str
    later: str
    also_before: str
    quadrants: list[tuple[str, int, str]]


def heads(query: QueryDict, columns: Columns, each: Iterable[Sum]) -> list[Head]:
    """A head a column."""
    return [_head(query, columns, i, found) for i, found in enumerate(each)]


def cleared(query: QueryDict) -> str:
    """The address that asks for all rows of the same columns."""
    return having(QueryDict(mutable=True), **{name: query.getlist(name) for name in STAYS})


def form_of(
    query: QueryDict, columns: Columns, asked: ResponseQuery, picks: Mapping[str, Picked], kinds: Mapping[str, int]
) -> dict[str, Any]:
    """The choices of each field: (value, words, whether it is chosen). Where there is nothing to pick of what others
    tell, they tell nothing of these columns. kinds: category -> how many prompts have it."""
    scopes = {"any": gettext("any column"), "all": gettext("all columns")}
    letters = {column.letter: gettext("column %(letter)s") % {"letter": column.letter} for column in columns.all}
    known = SORTS | ({name: told.words for name, told in viewer_annotations.sorts().items()} if picks else {})
    sorts = {f"{sign}{name}": f"{gettext(words)} {arrow}" for name, words in known.items() for sign, arrow in SIGNS}
    sort = f"-{asked.sort}" if asked.descending else asked.sort
    return {
        "kept": [(name, value) for name in KEPT for value in query.getlist(name) if value],
        "in": _choices(scopes | letters, asked.scope),
        "where": _choices(_said(WHERE), asked.where),
        "as": _choices(_said(AS), "regex" if asked.regex else "words"),
        "change": _choices({"": gettext("whatever differs")} | _said(CHANGES), asked.change),
        "sort": _choices(sorts, sort),
        "of": _choices({"": gettext("the column asked in, or the pinned one")} | letters, asked.of),
        "kinds": [(name, n, name in asked.categories) for name, n in kinds.items()],
        "quadrants": [(name, name in asked.quadrants) for name in QUADRANTS],
        "ranges": [(name, gettext(words), *_typed(query, name)) for name, words in RANGES.items()],
        "flags": _flags(FLAGS, asked.flags),
        "tellers": list(_tellers(asked, picks)),
    }  # fmt: skip


def _tellers(asked: ResponseQuery, picks: Mapping[str, Picked]) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """(title, what may be picked, flags) of each that tells something of these columns."""
    for teller in tellers():
        own = {name: picks[name] for name in teller.picks if name in picks}
        words = {name: told.words for name, told in teller.flags.items()}
        if own:
            yield gettext(teller.title), [_pick(asked, *one) for one in own.items()], _flags(words, asked.told)


def _pick(asked: ResponseQuery, name: str, one: Picked) -> tuple[str, str, list[tuple[str, str, bool]]]:
    return name, gettext(one.words), _choices(_said({"": one.all} | dict(one.options)), asked.picked.get(name, ""))


def _head(query: QueryDict, columns: Columns, i: int, found: Sum) -> Head:
    column, words, pinned = columns.all[i], [one.word for one in columns.all], columns.pinned.word
    others = [k for k in range(len(words)) if k != i]
    stay = _letters(query, columns, range(len(words)))
    is_pinned = column.word == pinned

    def instead(word: str) -> str:
        changed = [word if one == column.word else one for one in words]
        return having(query, run=changed, pin=word if is_pinned else pinned, **stay) if word else ""

    # Only in the data set's own order a page is the same whatever is pinned.
    pinning = staying if query.get("sort", "row").removeprefix("-") == "row" else having
    has_room = column.earlier and column.earlier not in words and len(words) < COLUMNS_AT_MOST
    return Head(
        column, found, is_pinned, pin=pinning(query, pin=column.word),
        remove=having(
            query, run=[words[k] for k in others], pin="" if is_pinned else pinned, **_letters(query, columns, others)
        ),
        earlier=instead(column.earlier), later=instead(column.later),
        also_before=having(query, run=[*words, column.earlier], pin=pinned, **stay) if has_room else "",
        quadrants=[
            (name, n, having(query, quadrant=name, **{"in": column.letter})) for name, n in found.quadrants
        ],
    )  # fmt: skip


def _letters(query: QueryDict, columns: Columns, staying: Sequence[int]) -> dict[str, str]:
    """Return what `in` and `of` are to be if only these columns stay: their letters change, those of others end."""
    after = {columns.letters[k]: letter for k, letter in zip(staying, ascii_uppercase, strict=False)}
    before = {name: query.get(name, "") for name in ("in", "of")}
    return {name: after.get(letter, "") for name, letter in before.items() if letter in columns.letters}


def _choices(choices: Mapping[str, str], chosen: str) -> list[tuple[str, str, bool]]:
    return [(value, words, value == chosen) for value, words in choices.items()]


def _said(choices: Mapping[str, str]) -> dict[str, str]:
    return {name: gettext(words) for name, words in choices.items()}


def _flags(words: Mapping[str, str], asked: Mapping[str, bool]) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
    choices = {"": gettext("either"), "yes": gettext("yes"), "no": gettext("no")}
    chosen = {None: "", True: "yes", False: "no"}
    return [(name, gettext(said), _choices(choices, chosen[asked.get(name)])) for name, said in words.items()]


def _typed(query: QueryDict, name: str) -> list[str]:
    return [query.get(f"{name}_{end}", "")[:40] for end in ("min", "max")]
