"""Add what registered apps know of answers, such as verdicts, to the SQL statement of the viewer."""

from __future__ import annotations

from runs.responses.viewer.annotations import AnnotationField, AnnotationSource, Sql, flags, sorts, tellers
from runs.responses.viewer.columns import Columns
from runs.responses.viewer.response_query import ResponseQuery


def tables(columns: Columns, asked: ResponseQuery) -> list[Sql]:
    """A table of each whose flag or sort is asked for; only those cost anything."""
    made = [(k, teller.table(columns, asked.picked)) for k, teller in enumerate(tellers()) if _is_asked(teller, asked)]
    return [Sql(f"told{k} AS MATERIALIZED ({table.text})", table.values) for k, table in made]


def joins(name: str, asked: ResponseQuery) -> str:
    """Return the joins that add what the query needs of other apps to a column's answers."""
    found = [k for k, teller in enumerate(tellers()) if _is_asked(teller, asked)]
    return "".join(f" LEFT JOIN told{k} AS {name}_told{k} ON {name}_told{k}.id = {name}.id" for k in found)


def flag(which: str, name: str, pin: str) -> str:
    """A column's flag."""
    return _filled(which, flags()[which], name, pin)


def value(which: str, name: str, pin: str) -> str:
    """Return the SQL expression that sorts by a column's value."""
    return _filled(which, sorts()[which], name, pin)


def _filled(which: str, told: AnnotationField, name: str, pin: str) -> str:
    k = next(k for k, teller in enumerate(tellers()) if which in teller.flags or which in teller.sorts)
    return f"({told.sql.format(t=f'{name}_told{k}', c=name, pin=pin)})"


def _is_asked(teller: AnnotationSource, asked: ResponseQuery) -> bool:
    return asked.sort in teller.sorts or any(name in teller.flags for name in asked.told)
