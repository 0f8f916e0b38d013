"""JSON as models and small servers write it: read as meant, never completed, and strict JSON by its own rules."""

from __future__ import annotations

import json
import random
import string
from typing import Any

import pytest

from tests.cases import each_case
from workers.outgoing.json_text import prepare
from workers.outgoing.lenient_json import MAX_DEPTH, RepeatedValues, UnreadableJson, read_object


def read(text: str, at: int = 0) -> dict[str, Any]:
    value, end = read_object(prepare(text), at)
    assert prepare(text)[end:] == ""
    return value


@each_case(
    ("text", "value"),
    [
        ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}),
        (r'{"a": "\( \frac{1}{2} \)"}', {"a": r"\( \frac{1}{2} \)"}),
        (r'{"a": "C:\Users\x"}', {"a": r"C:\Users\x"}),
        ('{"a": [1, 2,], "b": {},}', {"a": [1, 2], "b": {}}),
        ("{'a': None, 'b': True, 'c': False, 'd': 'it''s'}", {"a": None, "b": True, "c": False, "d": "it''s"}),
        ('{a: 1, b_2: "x", c: plain words}', {"a": 1, "b_2": "x", "c": "plain words"}),
        ('{"a": 1 // one\n, "b": 2 # two\n, /* three */ "c": 3}', {"a": 1, "b": 2, "c": 3}),
        ('{"a": "http://x.org/#y", "b": http://x.org/y,}', {"a": "http://x.org/#y", "b": "http://x.org/y"}),
        ('{"a": 1\n"b": 2}', {"a": 1, "b": 2}),
        ("{“a”: “x”, ‘b’: ‘y’}", {"a": "x", "b": "y"}),
        ('{"a": "x "y", "z" w", "b": 1,}', {"a": 'x "y", "z" w', "b": 1}),
        ('{"a": 8/10, "b": <text>, "c": 1.5e3,}', {"a": "8/10", "b": "<text>", "c": 1500.0}),
        ('{"a": ["x", "y" and "z"]}', {"a": ["x", 'y" and "z']}),
        ('{"a": 1, "a": 1.0}', {"a": 1}),
        ('{"a": 1, "a": 2, "b": 3}', {"a": RepeatedValues((1, 2)), "b": 3}),
        ("{'a': 1, 'a': 2,}", {"a": RepeatedValues((1, 2))}),
        (f'{{"a": -{"9" * 5000}}}', {"a": float("-inf")}),
        ("{}", {}),
        ("{ // nothing\n}", {}),
    ],
)
def test_object_is_read_as_it_was_meant(text: str, value: dict[str, Any]) -> None:
    assert read(text) == value


def test_object_ends_where_it_is_closed() -> None:
    text = prepare('so: {"a": 1,} and {"b": 2}')
    assert read_object(text, 4) == ({"a": 1}, 13)
    assert read_object(text, 18) == ({"b": 2}, 26)


@each_case(
    ("text", "is_cut", "keys"),
    [
        ('{"a": 1, "b": "x', True, ["a", "b"]),
        ('{"a": 1, "b": "x"', True, ["a", "b"]),
        ('{"a": 1, "b": 2', True, ["a", "b"]),
        ('{"a": 1, "b', True, ["a"]),
        ('{"a": {"b": 1}', True, ["a"]),
        ('{"a": /* x', True, ["a"]),
        ("{", True, []),
        ("{x | x > 0}", False, []),
        ("{1}", False, []),
        ('{"a": 1, %}', False, ["a"]),
        ('{"a": 1,, "b": 2}', False, ["a"]),
        ('{"a": }', False, ["a"]),
        ('{"a" 1}', False, []),
        ("[1]", False, []),
        ('{"a": ' * (MAX_DEPTH + 2), False, ["a"]),
    ],
)
def test_unfinished_or_broken_object_is_not_completed(text: str, is_cut: bool, keys: list[str]) -> None:
    with pytest.raises(UnreadableJson) as raised:
        read(text)
    assert (raised.value.is_cut, raised.value.keys) == (is_cut, keys)


def test_strict_json_is_read_by_its_own_rules() -> None:
    chance = random.Random(1)
    for _ in range(200):
        value = {_text(chance): _value(chance, 3) for _ in range(chance.randint(0, 4))}
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=chance.choice((None, 1)))
        assert read(text) == value


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.randint(0, 5 if depth else 3)
    if kind == 4:
        return [_value(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    if kind == 5:
        return {_text(chance): _value(chance, depth - 1) for _ in range(chance.randint(0, 3))}
    return [chance.randint(-99, 99), chance.random(), chance.choice((None, True, False)), _text(chance)][kind]


def _text(chance: random.Random) -> str:
    # A backslash before a letter would be meant as LaTeX.
    return "".join(
        chance.choice(string.punctuation.replace("\\", "") + " \"',:{}é\n12xy") for _ in range(chance.randint(1, 9))
    )


def test_random_text_is_an_object_or_refused() -> None:
    chance, parts = (
        random.Random(2),
        ['"', "'", "{", "}", "[", "]", ":", ",", "\\", "a", "1", " ", "\n", "//", "/*", "“", '"a":'],
    )
    for _ in range(3000):
        text = prepare("{" + "".join(chance.choice(parts) for _ in range(chance.randint(0, 20))))
        try:
            value, end = read_object(text)
        except UnreadableJson as error:
            assert 0 <= error.end <= len(text) and error.is_cut == (error.end >= len(text))
        else:
            assert isinstance(value, dict) and text[end - 1] == "}"
