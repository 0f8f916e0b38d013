"""SQL fragments that add the annotations of registered apps, such as verdicts, to the viewer's statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from runs.responses.viewer.annotations import AnnotationField, AnnotationSource, Sql, flags, sorts, sources
from runs.responses.viewer.columns import Columns
from runs.responses.viewer.response_query import ResponseQuery


def tables(columns: Columns, query: ResponseQuery, names: Sequence[str], expressions: str) -> list[Sql]:
    """Return a table for each source whose flag or sort is used; other sources cost nothing.

    A table has the annotations of those columns, by `names`, and those fields that the SQL `expressions` use.
    PostgreSQL computes no other field.
    """
    tables = []
    for k, source in _used_sources(query):
        used = [i for i, name in enumerate(names) if f"{_alias(name, k)}." in expressions]
        fields = {"id", *re.findall(rf"\b{_alias(r'[a-z0-9]+', k)}\.([a-z_]+)", expressions)}
        table = source.table(_select_columns(columns, used), query.picked)
        text = f"SELECT {', '.join(sorted(fields))} FROM ({table.text}) AS annotations"  # noqa: S608
        tables.append(Sql(f"told{k} AS MATERIALIZED ({text})", table.values))
    return tables


def joins(name: str, query: ResponseQuery, expressions: str) -> str:
    """Return the joins that add annotations to a column's responses, if the SQL `expressions` use them."""
    aliases = [(k, _alias(name, k)) for k, _ in _used_sources(query)]
    return "".join(
        f" LEFT JOIN told{k} AS {alias} ON {alias}.id = {name}.id" for k, alias in aliases if f"{alias}." in expressions
    )


def flag(flag_name: str, name: str, pin: str) -> str:
    """Return the SQL condition of a column's flag."""
    return _fill_template(flag_name, flags()[flag_name], name, pin)


def value(sort_name: str, name: str, pin: str) -> str:
    """Return the SQL expression that sorts by a column's value."""
    return _fill_template(sort_name, sorts()[sort_name], name, pin)


def _fill_template(field_name: str, field: AnnotationField, name: str, pin: str) -> str:
    k = next(k for k, source in enumerate(sources()) if field_name in source.flags or field_name in source.sorts)
    return f"({field.sql.format(t=_alias(name, k), c=name, pin=pin)})"


def _alias(name: str, k: int) -> str:
    """Return the name of the k-th source's table, joined to a column's responses."""
    return f"{name}_told{k}"


def _select_columns(columns: Columns, indices: Sequence[int]) -> Columns:
    """Return these columns and the pinned one. They have a cache of their own if any column is left out."""
    selected = [column for i, column in enumerate(columns.all) if i in indices or i == columns.pin]
    if len(selected) == len(columns.all):
        return columns
    return replace(columns, all=selected, pin=selected.index(columns.pinned), cache={})


def _used_sources(query: ResponseQuery) -> list[tuple[int, AnnotationSource]]:
    return [(k, source) for k, source in enumerate(sources()) if _is_used(source, query)]


def _is_used(source: AnnotationSource, query: ResponseQuery) -> bool:
    return query.sort in source.sorts or any(name in source.flags for name in query.source_flags)
