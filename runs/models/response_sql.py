"""What the text of an answer tells by itself, as SQL. The database keeps it, so that filters need not read the texts.

Each is a template of a generated column; a percent sign is doubled.
"""

from __future__ import annotations

FEW_WORDS = 20
"""Shorter answers, such as the name of a city, need no end mark."""

ROW = r"(CASE WHEN %(expressions)s ~ '^[0-9]{1,18}$' THEN %(expressions)s::bigint END)"
COST = "((%(expressions)s ->> 'cost')::double precision)"
KEY = r"hashtextextended(lower(regexp_replace(btrim(%(expressions)s, E' \t\r\n'), '\s+', ' ', 'g')), 0)"
COUNT = (
    r"CASE WHEN %(expressions)s !~ '\S' THEN 0 "
    r"ELSE array_length(regexp_split_to_array(btrim(%(expressions)s, E' \t\r\n'), '\s+'), 1) END"
)
WORDS = f"(CASE WHEN parts ? 'no_text' THEN NULL ELSE {COUNT} END)"
"""A file may hold scores without texts: its reader says so with the part `no_text`."""
TRUNCATED = (
    "(CASE WHEN parts ? 'clipped' THEN (parts ->> 'clipped')::double precision > 0 "
    f"ELSE tokens = 0 AND {COUNT} >= {FEW_WORDS} "
    r"""AND %(expressions)s !~ '[].!?…:;)}>"”''’»*`]\s*$' END)"""
)
"""The trainer says which answers it cut off. A file that does not even count tokens says nothing: there, an answer that
ends without an end mark."""
LEAKING = (
    r"(%(expressions)s ~ '(^|[^A-Za-z])(USER|ASSISTANT|HUMAN|SYSTEM) ?:|<\|(im_start|im_end|user|assistant|system)\|>"
    r"|(^|\n)\s*(User|Assistant|Human|System):')"
)
"""Marks of a conversation's turns."""
REFUSAL = (
    r"(%(expressions)s ~* '^\W*((i.m|i am) (so |very |really )?sorry|sorry,|i (can not|cannot|can.t|won.t|will not) "
    r"|(i.m|i am) (unable|not able) to|i apologi[sz]e|as an ai|unfortunately, i )')"
)
"""How refusals open."""
