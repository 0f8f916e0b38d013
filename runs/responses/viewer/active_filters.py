"""Descriptions of the filters of an address, each with the address without that filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.http import QueryDict
from django.utils.translation import gettext

from runs.charts import number
from runs.responses.viewer.annotations import PickOptions, flags
from runs.responses.viewer.correctness import CORRECTNESS
from runs.responses.viewer.response_query import AS, CHANGES, FLAGS, RANGES, WHERE, ResponseQuery, Span

CURSOR_PARAMS = ("after", "before")
"""Parameters of the page's position; a changed query starts at the first page."""


def address_without(query: QueryDict, *names: str) -> str:
    """Return the address without these parameters, on its first page."""
    rest = query.copy()
    for name in (*names, *CURSOR_PARAMS):
        rest.pop(name, None)
    return f"?{rest.urlencode()}"


def address_with(query: QueryDict, **values: str | Sequence[str]) -> str:
    """Return the address with these parameters, on its first page; empty values are left out."""
    return _changed(query, values, CURSOR_PARAMS)


def same_page_address(query: QueryDict, **values: str | Sequence[str]) -> str:
    """Return the address with these parameters, as `address_with` does, on the current page."""
    return _changed(query, values, ())


def _changed(query: QueryDict, values: Mapping[str, str | Sequence[str]], removed: Sequence[str]) -> str:
    rest = query.copy()
    for name in (*values, *removed):
        rest.pop(name, None)
    for name, value in values.items():
        rest.setlist(name, [value] if isinstance(value, str) else list(value))
    for name, items in list(rest.lists()):
        rest.setlist(name, [value for value in items if value])
    return f"?{rest.urlencode()}"


def describe_filters(
    response_query: ResponseQuery, query: QueryDict, picks: Mapping[str, PickOptions]
) -> list[tuple[str, str]]:
    """Return (description of a filter, the address without it)."""
    return [(text, address_without(query, *names)) for text, names in _parts(response_query, picks)]


def _parts(response_query: ResponseQuery, picks: Mapping[str, PickOptions]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if response_query.text:
        match_label, where_label = (
            gettext(AS["regex" if response_query.regex else "words"]),
            gettext(WHERE[response_query.where]),
        )
        yield (
            gettext("%(how)s %(where)s: %(text)s")
            % {"how": match_label, "where": where_label, "text": response_query.text},
            ("q", "as", "where"),
        )
    for name, span in response_query.ranges.items():
        yield f"{gettext(RANGES[name])} {_span(span)}", (f"{name}_min", f"{name}_max")
    if response_query.categories:
        yield gettext(" or ").join(response_query.categories), ("category",)
    if response_query.quadrants:
        yield " / ".join(response_query.quadrants), ("quadrant",)
    if response_query.correctness:
        labels = [gettext(CORRECTNESS[name].label) for name in response_query.correctness]
        yield gettext(" or ").join(labels), ("correctness",)
    flag_labels = {name: field.label for name, field in flags().items()}
    for flag, holds in {**response_query.flags, **response_query.source_flags}.items():
        label = gettext((FLAGS | flag_labels)[flag])
        yield label if holds else gettext("not: %(words)s") % {"words": label}, (flag,)
    for name, value in response_query.picked.items():
        if value:
            yield f"{gettext(picks[name].words)}: {value}", (name,)
    if response_query.change:
        yield gettext(CHANGES[response_query.change]), ("change",)
    if response_query.same is not None:
        yield gettext("the same response"), ("same",)
    if response_query.lasso:
        yield gettext("inside the area drawn in the chart"), ("lasso",)


def _span(span: Span) -> str:
    low, high = span
    if low is None:
        return f"≤ {number(high)}"
    return f"≥ {number(low)}" if high is None else f"{number(low)} – {number(high)}"
