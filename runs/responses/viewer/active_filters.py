"""Describe each filter of an address in words, with the address that no longer has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.http import QueryDict
from django.utils.translation import gettext

from runs.charts import number
from runs.responses.viewer.annotations import Picked, flags
from runs.responses.viewer.response_query import AS, CHANGES, FLAGS, RANGES, WHERE, ResponseQuery, Span

PLACES = ("after", "before")
"""Which page: another question begins at the first."""


def without(query: QueryDict, *names: str) -> str:
    """The address that does not ask these, from its first page."""
    rest = query.copy()
    for name in (*names, *PLACES):
        rest.pop(name, None)
    return f"?{rest.urlencode()}"


def having(query: QueryDict, **values: str | Sequence[str]) -> str:
    """The address that asks these instead, from its first page; an empty value is left out."""
    return _changed(query, values, PLACES)


def staying(query: QueryDict, **values: str | Sequence[str]) -> str:
    """Return the query with these values, as `having` does, on the page that is open."""
    return _changed(query, values, ())


def _changed(query: QueryDict, values: Mapping[str, str | Sequence[str]], forgotten: Sequence[str]) -> str:
    rest = query.copy()
    for name in (*values, *forgotten):
        rest.pop(name, None)
    for name, value in values.items():
        rest.setlist(name, [value] if isinstance(value, str) else list(value))
    for name, given in list(rest.lists()):
        rest.setlist(name, [value for value in given if value])
    return f"?{rest.urlencode()}"


def in_words(asked: ResponseQuery, query: QueryDict, picks: Mapping[str, Picked]) -> list[tuple[str, str]]:
    """(what is asked, the address without it)."""
    return [(words, without(query, *names)) for words, names in _parts(asked, picks)]


def _parts(asked: ResponseQuery, picks: Mapping[str, Picked]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if asked.text:
        how, where = gettext(AS["regex" if asked.regex else "words"]), gettext(WHERE[asked.where])
        yield (
            gettext("%(how)s %(where)s: %(text)s") % {"how": how, "where": where, "text": asked.text},
            ("q", "as", "where"),
        )
    for name, span in asked.ranges.items():
        yield f"{gettext(RANGES[name])} {_span(span)}", (f"{name}_min", f"{name}_max")
    if asked.categories:
        yield gettext(" or ").join(asked.categories), ("category",)
    if asked.quadrants:
        yield " / ".join(asked.quadrants), ("quadrant",)
    told = {name: told.words for name, told in flags().items()}
    for flag, holds in {**asked.flags, **asked.told}.items():
        words = gettext((FLAGS | told)[flag])
        yield words if holds else gettext("not: %(words)s") % {"words": words}, (flag,)
    for name, value in asked.picked.items():
        if value:
            yield f"{gettext(picks[name].words)}: {value}", (name,)
    if asked.change:
        yield gettext(CHANGES[asked.change]), ("change",)
    if asked.same is not None:
        yield gettext("the same answer"), ("same",)
    if asked.lasso:
        yield gettext("inside the line drawn in the chart"), ("lasso",)


def _span(span: Span) -> str:
    low, high = span
    if low is None:
        return f"≤ {number(high)}"
    return f"≥ {number(low)}" if high is None else f"{number(low)} – {number(high)}"
