"""Fields of the viewer's form and heads of its columns, with the current choices selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from runs.responses.viewer import annotations as viewer_annotations
from runs.responses.viewer.active_filters import address_with, same_page_address
from runs.responses.viewer.annotations import PickOptions, sources
from runs.responses.viewer.columns import MAX_COLUMNS, Column, Columns
from runs.responses.viewer.correctness import CORRECTNESS
from runs.responses.viewer.queries import ColumnSummary
from runs.responses.viewer.response_query import AS, CHANGES, FLAGS, RANGES, SORTS, WHERE, ResponseQuery
from workers.analysis.quadrants import QUADRANTS

COLUMN_PARAMS = ("run", "pin", "diff", "samples", "scores", "experiment")
"""Parameters that remain when all filters are cleared."""
HIDDEN_PARAMS = (*(name for name in COLUMN_PARAMS if name != "scores"), "lasso", "same")
"""Parameters for which the form has no field."""
SIGNS = (("", "↑"), ("-", "↓"))


@dataclass(frozen=True)
class Head:
    """Hold a column's head: the summary of its responses, and the addresses that change the column."""

    column: Column
    sum: ColumnSummary
    is_pinned: bool
    pin: str
    remove: str
    earlier: str
    later: str
    also_before: str
    quadrants: list[tuple[str, int, str]]


def heads(query: QueryDict, columns: Columns, each: Iterable[ColumnSummary]) -> list[Head]:
    """Return the head of each column."""
    return [_head(query, columns, i, column_sum) for i, column_sum in enumerate(each)]


def cleared_address(query: QueryDict) -> str:
    """Return the address of all rows of the same columns."""
    return address_with(QueryDict(mutable=True), **{name: query.getlist(name) for name in COLUMN_PARAMS})


def form_context(
    query: QueryDict,
    columns: Columns,
    response_query: ResponseQuery,
    picks: Mapping[str, PickOptions],
    kinds: Mapping[str, int],
) -> dict[str, Any]:
    """Return the choices of each field: (value, label, whether selected). If `picks` is empty, no source annotates
    these columns, and their sorts are left out. kinds: category -> number of prompts that have it."""
    scopes = {"any": gettext("any column"), "all": gettext("all columns")}
    letters = {column.letter: gettext("column %(letter)s") % {"letter": column.letter} for column in columns.all}
    sort_fields = SORTS | ({name: field.label for name, field in viewer_annotations.sorts().items()} if picks else {})
    sorts = {
        f"{sign}{name}": f"{gettext(words)} {arrow}" for name, words in sort_fields.items() for sign, arrow in SIGNS
    }
    sort = f"-{response_query.sort}" if response_query.descending else response_query.sort
    return {
        "kept": [(name, value) for name in HIDDEN_PARAMS for value in query.getlist(name) if value],
        "in": _choices(scopes | letters, response_query.scope),
        "where": _choices(_translated(WHERE), response_query.where),
        "as": _choices(_translated(AS), "regex" if response_query.regex else "words"),
        "change": _choices({"": gettext("all rows")} | _translated(CHANGES), response_query.change),
        "sort": _choices(sorts, sort),
        "of": _choices({"": gettext("the filter column, or the pinned column")} | letters, response_query.of),
        "kinds": [(name, n, name in response_query.categories) for name, n in kinds.items()],
        "quadrants": [(name, name in response_query.quadrants) for name in QUADRANTS],
        "correctness": [
            (name, badge.sign, gettext(badge.label), name in response_query.correctness)
            for name, badge in CORRECTNESS.items()
        ],
        "ranges": [(name, gettext(words), *_typed(query, name)) for name, words in RANGES.items()],
        "flags": _flags(FLAGS, response_query.flags),
        "tellers": list(_source_fields(response_query, picks)),
    }  # fmt: skip


def _source_fields(
    response_query: ResponseQuery, picks: Mapping[str, PickOptions]
) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Yield (title, pick options, flags) of each source that annotates these columns."""
    for source in sources():
        own = {name: picks[name] for name in source.picks if name in picks}
        words = {name: field.label for name, field in source.flags.items()}
        if own:
            yield (
                gettext(source.title),
                [_pick(response_query, *pick) for pick in own.items()],
                _flags(words, response_query.source_flags),
            )


def _pick(
    response_query: ResponseQuery, name: str, options: PickOptions
) -> tuple[str, str, list[tuple[str, str, bool]]]:
    return (
        name,
        gettext(options.words),
        _choices(_translated({"": options.all} | dict(options.options)), response_query.picked.get(name, "")),
    )


def _head(query: QueryDict, columns: Columns, i: int, column_sum: ColumnSummary) -> Head:
    column, words, pinned = columns.all[i], [other.word for other in columns.all], columns.pinned.word
    others = [k for k in range(len(words)) if k != i]
    stay = _letters(query, columns, range(len(words)))
    is_pinned = column.word == pinned

    def address_with_column(word: str) -> str:
        new_words = [word if other == column.word else other for other in words]
        return address_with(query, run=new_words, pin=word if is_pinned else pinned, **stay) if word else ""

    # Only in the data set's own order a page has the same rows for every pinned column.
    pin_address = same_page_address if query.get("sort", "row").removeprefix("-") == "row" else address_with
    can_add_earlier = column.earlier and column.earlier not in words and len(words) < MAX_COLUMNS
    return Head(
        column, column_sum, is_pinned, pin=pin_address(query, pin=column.word),
        remove=address_with(
            query, run=[words[k] for k in others], pin="" if is_pinned else pinned, **_letters(query, columns, others)
        ),
        earlier=address_with_column(column.earlier), later=address_with_column(column.later),
        also_before=address_with(query, run=[*words, column.earlier], pin=pinned, **stay) if can_add_earlier else "",
        quadrants=[
            (name, n, address_with(query, quadrant=name, **{"in": column.letter})) for name, n in column_sum.quadrants
        ],
    )  # fmt: skip


def _letters(query: QueryDict, columns: Columns, remaining: Sequence[int]) -> dict[str, str]:
    """Return `in` and `of` if only these columns remain: their letters change, and removed ones are cleared."""
    after = {columns.letters[k]: letter for k, letter in zip(remaining, ascii_uppercase, strict=False)}
    before = {name: query.get(name, "") for name in ("in", "of")}
    return {name: after.get(letter, "") for name, letter in before.items() if letter in columns.letters}


def _choices(choices: Mapping[str, str], selected: str) -> list[tuple[str, str, bool]]:
    return [(value, words, value == selected) for value, words in choices.items()]


def _translated(choices: Mapping[str, str]) -> dict[str, str]:
    return {name: gettext(words) for name, words in choices.items()}


def _flags(words: Mapping[str, str], values: Mapping[str, bool]) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
    choices = {"": gettext("any"), "yes": gettext("yes"), "no": gettext("no")}
    selected = {None: "", True: "yes", False: "no"}
    return [(name, gettext(label), _choices(choices, selected[values.get(name)])) for name, label in words.items()]


def _typed(query: QueryDict, name: str) -> list[str]:
    return [query.get(f"{name}_{end}", "")[:40] for end in ("min", "max")]
