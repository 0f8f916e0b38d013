"""SQL templates of values computed from a response's text. The database stores them, so filters read no texts.

Each template defines a generated column; a percent sign is doubled.
"""

from __future__ import annotations

FEW_WORDS = 20
"""Number of words below which a response, such as the name of a city, needs no end mark."""

ROW = r"(CASE WHEN %(expressions)s ~ '^[0-9]{1,18}$' THEN %(expressions)s::bigint END)"
COST = "((%(expressions)s ->> 'cost')::double precision)"
KEY = r"hashtextextended(lower(regexp_replace(btrim(%(expressions)s, E' \t\r\n'), '\s+', ' ', 'g')), 0)"
COUNT = (
    r"CASE WHEN %(expressions)s !~ '\S' THEN 0 "
    r"ELSE array_length(regexp_split_to_array(btrim(%(expressions)s, E' \t\r\n'), '\s+'), 1) END"
)
WORDS = f"(CASE WHEN parts ? 'no_text' THEN NULL ELSE {COUNT} END)"
"""Number of words. An imported file may hold scores without texts: its reader marks them with the part `no_text`."""
TRUNCATED = (
    "(CASE WHEN parts ? 'clipped' THEN (parts ->> 'clipped')::double precision > 0 "
    f"ELSE tokens = 0 AND {COUNT} >= {FEW_WORDS} "
    r"""AND %(expressions)s !~ '[].!?…:;)}>"”''’»*`]\s*$' END)"""
)
"""Condition of a truncated response. The trainer marks the responses that it cut off. If a file has no token counts, a
response without an end mark counts as truncated."""
LEAKING = (
    r"(%(expressions)s ~ '(^|[^A-Za-z])(USER|ASSISTANT|HUMAN|SYSTEM) ?:|<\|(im_start|im_end|user|assistant|system)\|>"
    r"|(^|\n)\s*(User|Assistant|Human|System):')"
)
"""Condition of a response that contains marks of conversation turns."""
REFUSAL = (
    r"(%(expressions)s ~* '^\W*((i.m|i am) (so |very |really )?sorry|sorry,|i (can not|cannot|can.t|won.t|will not) "
    r"|(i.m|i am) (unable|not able) to|i apologi[sz]e|as an ai|unfortunately, i )')"
)
"""Condition of a response that opens as a refusal."""
