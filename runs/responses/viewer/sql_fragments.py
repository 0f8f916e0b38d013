"""SQL fragments that add the annotations of registered apps, such as verdicts, to the viewer's statement."""

from __future__ import annotations

from runs.responses.viewer.annotations import AnnotationField, AnnotationSource, Sql, flags, sorts, sources
from runs.responses.viewer.columns import Columns
from runs.responses.viewer.response_query import ResponseQuery


def tables(columns: Columns, query: ResponseQuery) -> list[Sql]:
    """Return a table for each source whose flag or sort is used; other sources cost nothing."""
    source_tables = [
        (k, source.table(columns, query.picked)) for k, source in enumerate(sources()) if _is_used(source, query)
    ]
    return [Sql(f"told{k} AS MATERIALIZED ({table.text})", table.values) for k, table in source_tables]


def joins(name: str, query: ResponseQuery) -> str:
    """Return the joins that add the annotations needed by the query to a column's responses."""
    indices = [k for k, source in enumerate(sources()) if _is_used(source, query)]
    return "".join(f" LEFT JOIN told{k} AS {name}_told{k} ON {name}_told{k}.id = {name}.id" for k in indices)


def flag(flag_name: str, name: str, pin: str) -> str:
    """Return the SQL condition of a column's flag."""
    return _fill_template(flag_name, flags()[flag_name], name, pin)


def value(sort_name: str, name: str, pin: str) -> str:
    """Return the SQL expression that sorts by a column's value."""
    return _fill_template(sort_name, sorts()[sort_name], name, pin)


def _fill_template(field_name: str, field: AnnotationField, name: str, pin: str) -> str:
    k = next(k for k, source in enumerate(sources()) if field_name in source.flags or field_name in source.sorts)
    return f"({field.sql.format(t=f'{name}_told{k}', c=name, pin=pin)})"


def _is_used(source: AnnotationSource, query: ResponseQuery) -> bool:
    return query.sort in source.sorts or any(name in source.flags for name in query.source_flags)
