"""SQL of a query for responses. Names of columns and sorts are constants; users' values are parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.responses.viewer import sql_fragments
from runs.responses.viewer.annotations import Sql, sorts
from runs.responses.viewer.columns import SPLIT, Column, Columns
from runs.responses.viewer.correctness import CORRECTNESS_SQL, RIGHT
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.response_query import RELATIVE, ResponseQuery
from runs.responses.viewer.sql_fragments import joins

ANSWERS_SQL = """{name} AS MATERIALIZED (
    SELECT r.id, prompt_id, sample, {reward} AS reward, {cost} AS cost, words, text_key,
           is_truncated, is_leaking, is_refusal{correctness}
    FROM runs_response r {scored}
    WHERE run_id = %s AND split = %s AND step = %s AND NOT is_superseded {greedy}
)"""
SCORE_JOINS_SQL = """
    LEFT JOIN runs_score sr ON sr.response_id = r.id AND sr.scorer = %s AND sr.key = 'reward'
    LEFT JOIN runs_score sc ON sc.response_id = r.id AND sc.scorer = %s AND sc.key = 'cost'"""
REPEATED_SQL = """{name}_same AS MATERIALIZED (
    SELECT {name}.text_key FROM {name} JOIN prompts p ON p.id = prompt_id
    WHERE words IS NOT NULL GROUP BY 1 HAVING count(DISTINCT p.text_key) > 1
)"""
MATCHING_TEXT_SQL = """holding AS MATERIALIZED (
    SELECT prompt_id, sample, array_agg(id) AS ids FROM runs_response
    WHERE {text} AND run_id = ANY(%s) AND step = ANY(%s) AND split = %s GROUP BY 1, 2
)"""
HOLDING_JOIN_SQL = """
    LEFT JOIN holding ON holding.prompt_id = asked.prompt_id AND holding.sample = asked.sample"""
PAGE_SQL = """WITH {tables},
asked AS MATERIALIZED (SELECT prompt_id, sample FROM ({keys}) AS keys GROUP BY 1, 2),
prompts AS MATERIALIZED (SELECT {prompt_fields} FROM runs_prompt WHERE id = ANY(ARRAY(SELECT prompt_id FROM asked))),
{others}matched AS MATERIALIZED (
    SELECT p.id AS prompt_id, asked.sample, COALESCE(p.row, 4611686018427387904) AS row, p.name,
           COALESCE(NULLIF(({sort})::float8, 'NaN'), 'Infinity') AS value, ARRAY[{ids}] AS ids
    FROM asked JOIN prompts p ON p.id = asked.prompt_id {joins}
    WHERE {conditions}
)
SELECT value, row, name, prompt_id, sample, ids, (SELECT count(*) FROM matched), (SELECT count(*) FROM asked)
FROM (
    SELECT * FROM matched WHERE {beyond}
    ORDER BY value {way}, row {way}, name {way}, prompt_id {way}, sample {way} LIMIT %s
) AS page
RIGHT JOIN (SELECT 1) AS always ON true
ORDER BY value, row, name, prompt_id, sample
"""
FLAG_SQL = {
    "truncated": "{c}.is_truncated", "leak": "{c}.is_leaking", "refusal": "{c}.is_refusal",
    "duplicate": "{c}.text_key IN (SELECT text_key FROM {c}_same)", "empty": "{c}.words = 0",
}  # fmt: skip
VALUE_SQL = {
    "reward": "{c}.reward", "cost": "{c}.cost", "words": "{c}.words",
    "ratio": "{c}.words / NULLIF({pin}.words, 0)::float8", "dreward": "{c}.reward - {pin}.reward",
    "dcost": "{c}.cost - {pin}.cost",
}  # fmt: skip
QUADRANT_SQL = (
    "(CASE WHEN {c}.cost <= 0 THEN 'S' WHEN {c}.cost > 0 THEN 'U' END"
    " || CASE WHEN {c}.reward > 0 THEN 'H' WHEN {c}.reward <= 0 THEN 'U' END)"
)
CHANGE_SQL = {
    "text": "{c}.text_key IS DISTINCT FROM {pin}.text_key AND {c}.id IS NOT NULL AND {pin}.id IS NOT NULL",
    "quadrant": f"{QUADRANT_SQL} <> {QUADRANT_SQL.replace('{c}', '{pin}')}",
    "safer": "{c}.cost <= 0 AND {pin}.cost > 0",
    "unsafer": "{c}.cost > 0 AND {pin}.cost <= 0",
    "corrected": f"{{c}}.correctness = '{RIGHT}' AND {{pin}}.correctness <> '{RIGHT}'",
    "broken": f"{{c}}.correctness <> '{RIGHT}' AND {{pin}}.correctness = '{RIGHT}'",
}
REWARD_DISTANCE_SQL = "NULLIF(abs({c}.reward - {pin}.reward), 'NaN')"
TEXT_DISTANCE_SQL = """(CASE WHEN {c}.text_key = {pin}.text_key THEN 0
    ELSE (1 + abs({c}.words - {pin}.words) / (1 + GREATEST({c}.words, {pin}.words))::float8) / 2 END)"""
"""0 for the same text, at least 0.5 for another one, and near 1 for one of a very different length."""
DIFFERENCE_SQL = "CASE WHEN GREATEST({rewards}) > 0 THEN 1 + GREATEST({rewards}) ELSE GREATEST({texts}) END"
"""Largest distance of any column from the pinned one. Rows of equal rewards follow, by the distance of their texts."""


def answer_tables(columns: Columns, query: ResponseQuery) -> list[Sql]:
    """Return a table for each column, with the values of its responses."""
    return [_answers(column_table(i), column, query) for i, column in enumerate(columns.all)]


def column_table(i: int) -> str:
    """Return the name of the i-th column's table."""
    return f"c{i}"


def page_sql(
    columns: Columns, query: ResponseQuery, size: int, after: ResponseCursor | None, before: ResponseCursor | None
) -> Sql:
    """Return the query for a page's rows, the number of matching rows, and that of all rows."""
    names = [column_table(i) for i in range(len(columns.all))]
    tables, others = answer_tables(columns, query), list[Sql]()
    if "duplicate" in query.flags:
        others += [Sql(REPEATED_SQL.format(name=name)) for name in names]
    if _searches_responses(query):
        others.append(_matching_text(columns, query))
    where, after_cursor = _of_prompt(query, _conditions(columns, query)), _after_cursor(after, before)
    sort = _sort(columns, query)
    expressions = f"{where.text} {sort}"
    others += sql_fragments.tables(columns, query, names, expressions)
    text = PAGE_SQL.format(
        tables=",\n".join(table.text for table in tables), others="".join(f"{other.text},\n" for other in others),
        keys=" UNION ALL ".join(f"SELECT prompt_id, sample FROM {name}" for name in names),  # noqa: S608
        prompt_fields=_prompt_fields(query), sort=sort, ids=", ".join(f"{name}.id" for name in names),
        conditions=where.text,
        joins=" ".join(
            f"LEFT JOIN {name} ON {name}.prompt_id = asked.prompt_id AND {name}.sample = asked.sample"
            + joins(name, query, expressions)
            for name in names
        ) + (HOLDING_JOIN_SQL if _searches_responses(query) else ""),
        beyond=after_cursor.text, way="DESC" if before else "ASC",
    )  # fmt: skip
    return Sql(text, [*_values([*tables, *others]), *where.values, *after_cursor.values, size])


def _values(tables: Sequence[Sql]) -> list[Any]:
    return [value for table in tables for value in table.values]


def _prompt_fields(query: ResponseQuery) -> str:
    """Return the fields of prompts that the query needs. Texts and categories are most of a prompt's bytes."""
    needed = {"text": query.text, "categories": query.categories, "text_key": "duplicate" in query.flags}
    return ", ".join(["id", "row", "name", *(name for name, is_needed in needed.items() if is_needed)])


def _answers(name: str, column: Column, query: ResponseQuery) -> Sql:
    reward, cost = ("sr.value", "sc.value") if query.scorer else ("r.reward", "r.cost")
    scored = SCORE_JOINS_SQL if query.scorer else ""
    greedy = "" if query.samples else "AND sample = 0"
    correctness = f", {CORRECTNESS_SQL} AS correctness" if query.needs_correctness else ""
    text = ANSWERS_SQL.format(
        name=name, reward=reward, cost=cost, correctness=correctness, scored=scored, greedy=greedy
    )
    return Sql(text, [*([query.scorer] * 2 if query.scorer else []), column.run.pk, SPLIT, column.step])


def _searches_responses(query: ResponseQuery) -> bool:
    return bool(query.text) and query.where != "prompts"


def _matching_text(columns: Columns, query: ResponseQuery) -> Sql:
    sign, pattern = _pattern(query)
    searched = [columns.all[i] for i in _in_scope(columns, query)]
    runs, steps = [column.run.pk for column in searched], [column.step for column in searched]
    return Sql(MATCHING_TEXT_SQL.format(text=f"text {sign} %s"), [pattern, runs, steps, SPLIT])


def _pattern(query: ResponseQuery) -> tuple[str, str]:
    if query.regex:
        return 'COLLATE "C" ~*', query.text
    escaped = query.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "ILIKE", f"%{escaped}%"


def _conditions(columns: Columns, query: ResponseQuery) -> Sql:
    """Return the condition on the columns of the scope, or on any or all of them."""
    indices = _in_scope(columns, query)
    conditions = [_of_column(column_table(i), column_table(columns.pin), query) for i in indices]
    conditions = [condition for condition in conditions if condition.text]
    if not conditions:
        return Sql("true")
    joined = " AND " if query.scope == "all" else " OR "
    return Sql(
        joined.join(f"({condition.text})" for condition in conditions),
        [value for condition in conditions for value in condition.values],
    )


def _of_prompt(query: ResponseQuery, answers: Sql) -> Sql:
    """Return the condition on the responses, combined with that on their prompt's categories."""
    if not query.categories:
        return answers
    return Sql(f"p.categories && %s AND ({answers.text})", [list(query.categories), *answers.values])


def _in_scope(columns: Columns, query: ResponseQuery) -> list[int]:
    if query.scope in columns.letters:
        return [columns.letters.index(query.scope)]
    all_indices = range(len(columns.all))
    return [i for i in all_indices if not (query.is_relative and i == columns.pin and len(columns.all) > 1)]


def _of_column(name: str, pin: str, query: ResponseQuery) -> Sql:
    parts: list[Sql] = []
    for key, (low, high) in query.ranges.items():
        value = VALUE_SQL[key].format(c=name, pin=pin)
        parts += [Sql(f"{value} >= %s", [low])] * (low is not None) + [Sql(f"{value} <= %s", [high])] * (
            high is not None
        )
    flag_conditions = {flag: (FLAG_SQL[flag].format(c=name), holds) for flag, holds in query.flags.items()}
    flag_conditions |= {
        flag: (sql_fragments.flag(flag, name, pin), holds) for flag, holds in query.source_flags.items()
    }
    parts += [
        Sql(condition if holds else f"{name}.id IS NOT NULL AND NOT {condition}")
        for condition, holds in flag_conditions.values()
    ]
    if query.quadrants:
        parts.append(Sql(f"{QUADRANT_SQL.format(c=name)} = ANY(%s)", [list(query.quadrants)]))
    if query.correctness:
        parts.append(Sql(f"{name}.correctness = ANY(%s)", [list(query.correctness)]))
    if query.change:
        parts.append(Sql(CHANGE_SQL[query.change].format(c=name, pin=pin)))
    if query.same is not None:
        parts.append(Sql(f"{name}.text_key = %s", [query.same]))
    if query.lasso:
        parts.append(Sql(f"%s::polygon @> point({name}.reward, {name}.cost)", [str(query.lasso).replace(" ", "")]))
    if query.text:
        parts.append(_text(name, query))
    return Sql(" AND ".join(part.text for part in parts), [value for part in parts for value in part.values])


def _text(name: str, query: ResponseQuery) -> Sql:
    sign, pattern = _pattern(query)
    in_answers, in_prompt = f"{name}.id = ANY(holding.ids)", f"p.text {sign} %s"
    if query.where == "answers":
        return Sql(in_answers)
    if query.where == "prompts":
        return Sql(in_prompt, [pattern])
    return Sql(f"({in_answers} OR {in_prompt})", [pattern])


def _sort(columns: Columns, query: ResponseQuery) -> str:
    """Return the expression that rows are sorted by, ascending."""
    names = [column_table(i) for i in range(len(columns.all))]
    if query.sort == "row":
        value = "COALESCE(p.row, 4611686018427387904)" if query.descending else "0"
    elif query.sort.endswith("_spread"):
        values = ", ".join(f"{name}.{query.sort.removesuffix('_spread')}" for name in names)
        value = f"GREATEST({values}) - LEAST({values})"
    elif query.sort == "difference":
        value = _difference(names, columns.pin)
    elif query.sort in VALUE_SQL:
        value = VALUE_SQL[query.sort].format(c=_sorted_column(columns, query), pin=column_table(columns.pin))
    else:
        value = sql_fragments.value(query.sort, _sorted_column(columns, query), column_table(columns.pin))
    return f"-({value})" if query.descending else value


def _difference(names: Sequence[str], pin: int) -> str:
    """Return the largest difference of any column from the pinned one; 0 if there is no other column."""
    others = [name for i, name in enumerate(names) if i != pin] or [names[pin]]
    rewards, texts = (
        ", ".join(distance.format(c=name, pin=names[pin]) for name in others)
        for distance in (REWARD_DISTANCE_SQL, TEXT_DISTANCE_SQL)
    )
    return DIFFERENCE_SQL.format(rewards=rewards, texts=texts)


def _sorted_column(columns: Columns, query: ResponseQuery) -> str:
    """Return the column to sort by: the named one; else the scope's; else the pinned one, or another if relative."""
    for letter in (query.of, query.scope):
        if letter in columns.letters:
            return column_table(columns.letters.index(letter))
    if (query.sort in RELATIVE or query.sort in sorts()) and len(columns.all) > 1:
        return column_table(0 if columns.pin else 1)
    return column_table(columns.pin)


def _after_cursor(after: ResponseCursor | None, before: ResponseCursor | None) -> Sql:
    cursor = before or after
    if cursor is None:
        return Sql("true")
    values = [cursor.value, cursor.row, cursor.name, cursor.prompt, cursor.sample]
    sign = "<" if before else ">"
    return Sql(
        f"(value, row, name, prompt_id, sample) {sign} (%s::float8, %s::bigint, %s, %s::bigint, %s::int)", values
    )
