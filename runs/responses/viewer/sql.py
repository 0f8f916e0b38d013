"""Build the SQL of a query for responses. Names of columns and sorts are ours; values from outside are parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs.responses.viewer import sql_fragments
from runs.responses.viewer.annotations import Sql, sorts
from runs.responses.viewer.columns import SPLIT, Column, Columns
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.response_query import RELATIVE, ResponseQuery
from runs.responses.viewer.sql_fragments import joins

ANSWERS = """{name} AS MATERIALIZED (
    SELECT r.id, prompt_id, sample, {reward} AS reward, {cost} AS cost, words, text_key,
           is_truncated, is_leaking, is_refusal
    FROM runs_response r {scored}
    WHERE run_id = %s AND split = %s AND step = %s AND NOT is_superseded {greedy}
)"""
SCORED = """
    LEFT JOIN runs_score sr ON sr.response_id = r.id AND sr.scorer = %s AND sr.key = 'reward'
    LEFT JOIN runs_score sc ON sc.response_id = r.id AND sc.scorer = %s AND sc.key = 'cost'"""
REPEATED = """{name}_same AS MATERIALIZED (
    SELECT {name}.text_key FROM {name} JOIN prompts p ON p.id = prompt_id
    WHERE words IS NOT NULL GROUP BY 1 HAVING count(DISTINCT p.text_key) > 1
)"""
HOLDING = """holding AS MATERIALIZED (
    SELECT id FROM runs_response WHERE {text} AND run_id = ANY(%s) AND step = ANY(%s) AND split = %s
)"""
PAGE = """WITH {tables},
asked AS MATERIALIZED (SELECT prompt_id, sample FROM ({keys}) AS keys GROUP BY 1, 2),
prompts AS MATERIALIZED (SELECT * FROM runs_prompt WHERE id = ANY(ARRAY(SELECT prompt_id FROM asked))),
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
FLAG = {
    "truncated": "{c}.is_truncated", "leak": "{c}.is_leaking", "refusal": "{c}.is_refusal",
    "duplicate": "{c}.text_key IN (SELECT text_key FROM {c}_same)", "empty": "{c}.words = 0",
}  # fmt: skip
VALUE = {
    "reward": "{c}.reward", "cost": "{c}.cost", "words": "{c}.words",
    "ratio": "{c}.words / NULLIF({pin}.words, 0)::float8", "dreward": "{c}.reward - {pin}.reward",
    "dcost": "{c}.cost - {pin}.cost",
}  # fmt: skip
QUADRANT = (
    "(CASE WHEN {c}.cost <= 0 THEN 'S' WHEN {c}.cost > 0 THEN 'U' END"
    " || CASE WHEN {c}.reward > 0 THEN 'H' WHEN {c}.reward <= 0 THEN 'U' END)"
)
CHANGE = {
    "text": "{c}.text_key IS DISTINCT FROM {pin}.text_key AND {c}.id IS NOT NULL AND {pin}.id IS NOT NULL",
    "quadrant": f"{QUADRANT} <> {QUADRANT.replace('{c}', '{pin}')}",
    "safer": "{c}.cost <= 0 AND {pin}.cost > 0",
    "unsafer": "{c}.cost > 0 AND {pin}.cost <= 0",
}


def answers(columns: Columns, asked: ResponseQuery) -> list[Sql]:
    """A table a column, with what its answers tell by themselves."""
    return [_answers(name_of(i), column, asked) for i, column in enumerate(columns.all)]


def name_of(i: int) -> str:
    """The table of the i-th column."""
    return f"c{i}"


def page(
    columns: Columns, asked: ResponseQuery, size: int, after: ResponseCursor | None, before: ResponseCursor | None
) -> Sql:
    """The rows of a page, their number, and that of all."""
    names = [name_of(i) for i in range(len(columns.all))]
    tables, others = answers(columns, asked), list[Sql]()
    if "duplicate" in asked.flags:
        others += [Sql(REPEATED.format(name=name)) for name in names]
    if asked.text and asked.where != "prompts":
        others.append(_holding(columns, asked))
    others += sql_fragments.tables(columns, asked)
    where, beyond = _of_prompt(asked, _conditions(columns, asked)), _beyond(after, before)
    text = PAGE.format(
        tables=",\n".join(table.text for table in tables), others="".join(f"{other.text},\n" for other in others),
        keys=" UNION ALL ".join(f"SELECT prompt_id, sample FROM {name}" for name in names),  # noqa: S608
        sort=_sort(columns, asked), ids=", ".join(f"{name}.id" for name in names), conditions=where.text,
        joins=" ".join(
            f"LEFT JOIN {name} ON {name}.prompt_id = asked.prompt_id AND {name}.sample = asked.sample"
            + joins(name, asked)
            for name in names
        ),
        beyond=beyond.text, way="DESC" if before else "ASC",
    )  # fmt: skip
    return Sql(text, [*_values([*tables, *others]), *where.values, *beyond.values, size])


def _values(tables: Sequence[Sql]) -> list[Any]:
    return [value for table in tables for value in table.values]


def _answers(name: str, column: Column, asked: ResponseQuery) -> Sql:
    reward, cost = ("sr.value", "sc.value") if asked.scorer else ("r.reward", "r.cost")
    scored = SCORED if asked.scorer else ""
    greedy = "" if asked.samples else "AND sample = 0"
    text = ANSWERS.format(name=name, reward=reward, cost=cost, scored=scored, greedy=greedy)
    return Sql(text, [*([asked.scorer] * 2 if asked.scorer else []), column.run.pk, SPLIT, column.step])


def _holding(columns: Columns, asked: ResponseQuery) -> Sql:
    sign, pattern = _pattern(asked)
    runs = [column.run.pk for column in columns.all]
    steps = [column.step for column in columns.all]
    return Sql(HOLDING.format(text=f"text {sign} %s"), [pattern, runs, steps, SPLIT])


def _pattern(asked: ResponseQuery) -> tuple[str, str]:
    if asked.regex:
        return 'COLLATE "C" ~*', asked.text
    escaped = asked.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return "ILIKE", f"%{escaped}%"


def _conditions(columns: Columns, asked: ResponseQuery) -> Sql:
    """Return the condition on the columns of the scope, or on any or all of them."""
    chosen = _in_scope(columns, asked)
    found = [_of_column(name_of(i), name_of(columns.pin), asked) for i in chosen]
    found = [one for one in found if one.text]
    if not found:
        return Sql("true")
    joined = " AND " if asked.scope == "all" else " OR "
    return Sql(joined.join(f"({one.text})" for one in found), [value for one in found for value in one.values])


def _of_prompt(asked: ResponseQuery, answers: Sql) -> Sql:
    """Return the condition on the answers, joined with that on the categories of their prompt."""
    if not asked.categories:
        return answers
    return Sql(f"p.categories && %s AND ({answers.text})", [list(asked.categories), *answers.values])


def _in_scope(columns: Columns, asked: ResponseQuery) -> list[int]:
    if asked.scope in columns.letters:
        return [columns.letters.index(asked.scope)]
    everyone = range(len(columns.all))
    return [i for i in everyone if not (asked.is_relative and i == columns.pin and len(columns.all) > 1)]


def _of_column(name: str, pin: str, asked: ResponseQuery) -> Sql:
    parts: list[Sql] = []
    for key, (low, high) in asked.ranges.items():
        value = VALUE[key].format(c=name, pin=pin)
        parts += [Sql(f"{value} >= %s", [low])] * (low is not None) + [Sql(f"{value} <= %s", [high])] * (
            high is not None
        )
    said = {flag: (FLAG[flag].format(c=name), holds) for flag, holds in asked.flags.items()}
    said |= {flag: (sql_fragments.flag(flag, name, pin), holds) for flag, holds in asked.told.items()}
    parts += [Sql(one if holds else f"{name}.id IS NOT NULL AND NOT {one}") for one, holds in said.values()]
    if asked.quadrants:
        parts.append(Sql(f"{QUADRANT.format(c=name)} = ANY(%s)", [list(asked.quadrants)]))
    if asked.change:
        parts.append(Sql(CHANGE[asked.change].format(c=name, pin=pin)))
    if asked.same is not None:
        parts.append(Sql(f"{name}.text_key = %s", [asked.same]))
    if asked.lasso:
        parts.append(Sql(f"%s::polygon @> point({name}.reward, {name}.cost)", [str(asked.lasso).replace(" ", "")]))
    if asked.text:
        parts.append(_text(name, asked))
    return Sql(" AND ".join(part.text for part in parts), [value for part in parts for value in part.values])


def _text(name: str, asked: ResponseQuery) -> Sql:
    sign, pattern = _pattern(asked)
    in_answers, in_prompt = f"{name}.id IN (SELECT id FROM holding)", f"p.text {sign} %s"  # noqa: S608
    if asked.where == "answers":
        return Sql(in_answers)
    if asked.where == "prompts":
        return Sql(in_prompt, [pattern])
    return Sql(f"({in_answers} OR {in_prompt})", [pattern])


def _sort(columns: Columns, asked: ResponseQuery) -> str:
    """The value that rows are sorted by, ascending."""
    names = [name_of(i) for i in range(len(columns.all))]
    if asked.sort == "row":
        value = "COALESCE(p.row, 4611686018427387904)" if asked.descending else "0"
    elif asked.sort.endswith("_spread"):
        values = ", ".join(f"{name}.{asked.sort.removesuffix('_spread')}" for name in names)
        value = f"GREATEST({values}) - LEAST({values})"
    elif asked.sort in VALUE:
        value = VALUE[asked.sort].format(c=_sorted_column(columns, asked), pin=name_of(columns.pin))
    else:
        value = sql_fragments.value(asked.sort, _sorted_column(columns, asked), name_of(columns.pin))
    return f"-({value})" if asked.descending else value


def _sorted_column(columns: Columns, asked: ResponseQuery) -> str:
    """The column that is named; else the one in whose scope is asked; else the first beside the pinned one."""
    for letter in (asked.of, asked.scope):
        if letter in columns.letters:
            return name_of(columns.letters.index(letter))
    if (asked.sort in RELATIVE or asked.sort in sorts()) and len(columns.all) > 1:
        return name_of(0 if columns.pin else 1)
    return name_of(columns.pin)


def _beyond(after: ResponseCursor | None, before: ResponseCursor | None) -> Sql:
    place = before or after
    if place is None:
        return Sql("true")
    values = [place.value, place.row, place.name, place.prompt, place.sample]
    sign = "<" if before else ">"
    return Sql(
        f"(value, row, name, prompt_id, sample) {sign} (%s::float8, %s::bigint, %s, %s::bigint, %s::int)", values
    )
