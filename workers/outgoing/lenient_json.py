"""Read JSON as language models and small servers write it. Nothing is completed: an object must be closed to be read.

Text that JSON allows is read by the rules of JSON. Otherwise these are accepted, too:

- line breaks, tabs and quotes inside strings, backslashes of LaTeX and of paths;
- strings in single or typographic quotes, keys and values without quotes;
- a comma too many or, between two lines, too few;
- comments of JavaScript and Python, and Python's None, True and False.

A repairing library is not used (docs/decisions/0064): it closes what a server did not finish, takes the last of two
values of a key, and does not tell where an object ends. Standard library only. Time grows linearly with the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from workers.outgoing.json_text import Document

MAX_DEPTH = 50
LOOKAHEAD = 200
"""Characters after a quote that decide whether it ends its string."""
MAX_INTEGER_DIGITS = 400

LITERALS: dict[str, Any] = {
    "true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "undefined": None,
    "NaN": float("nan"), "nan": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf"),
}  # fmt: skip
NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][-+]?\d++)?", re.ASCII)
SPACE = re.compile(r"\s*+")
BARE_KEY = re.compile(r"[A-Za-z_]\w{0,40}")
BARE_VALUE = re.compile(r"""[^\s,}\]\[{"“'][^,}\]\n"“]{0,80}""")
REMARK = re.compile(r"(?:(?<!:)//|/\*|\s#).*", re.DOTALL)
QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’"}
"""Opening quote -> closing quote."""
ESCAPE_OR_QUOTE = re.compile(r"""\\.|["'”’]""", re.DOTALL)
QUOTED_KEY = r"""["'“‘][^"'”’\\\n:]{1,60}["'”’]\s*+:"""
BARE_KEY_COLON = r"[A-Za-z_]\w{0,40}\s*+:"
GAP = r"(?:\s++|//[^\n]*+\n|#[^\n]*+\n|/\*[^*]*+\*/)*+"
ANY_KEY = rf"(?:{QUOTED_KEY}|{BARE_KEY_COLON})"
AFTER_QUOTED_MEMBER = re.compile(rf"{GAP}(?:}}|,{GAP}(?:{QUOTED_KEY}|}})|(?<=\s){QUOTED_KEY})")
AFTER_BARE_MEMBER = re.compile(rf"{GAP}(?:}}|,{GAP}(?:{ANY_KEY}|}})|(?<=\s){ANY_KEY})")
"""Text that follows the value of a member, in an object whose keys have quotes, or none."""
AFTER_ENTRY = re.compile(rf"""{GAP}(?:\]|,{GAP}(?:["'“\[{{\]\d-]|true|false|null|None|True|False))""")


class UnreadableJson(ValueError):
    """Text that is no value. `end` is the position up to which it was read, `keys` are those of its outermost object.

    is_cut: the text ends inside the value.
    """

    def __init__(self, end: int, *, is_cut: bool) -> None:
        super().__init__("the JSON ends too early" if is_cut else f"the JSON breaks off at character {end + 1}")
        self.end, self.is_cut, self.keys = end, is_cut, list[str]()


class RepeatedValues(tuple[Any, ...]):
    """The values of a key that an object has several times, if they differ: none of them is chosen."""

    __slots__ = ()


def read_object(text: Document, at: int = 0) -> tuple[dict[str, Any], int]:
    """Return the object that begins at this position, and the position after it. Raise UnreadableJson.

    A key with several different values has the value RepeatedValues.
    """
    try:
        value, end = STRICT.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _Reader(text).read_object(at)
    if not isinstance(value, dict):
        raise UnreadableJson(at, is_cut=False)
    return value, end


def merge_members(members: Collection[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with these members."""
    merged = dict(members)
    if len(merged) == len(members):
        return merged
    values: dict[str, list[Any]] = {}
    for key, value in members:
        values.setdefault(key, []).append(value)
    return {
        key: own[0] if all(value == own[0] for value in own) else RepeatedValues(own) for key, own in values.items()
    }


def parse_number(text: str) -> int | float:
    """Return the number of a numeral of JSON. An integer of very many digits is infinite, as a float would be."""
    is_integer = text.lstrip("-").isdigit() and len(text) <= MAX_INTEGER_DIGITS
    return int(text) if is_integer else float(text)


STRICT = json.JSONDecoder(strict=False, object_pairs_hook=merge_members, parse_int=parse_number)


EndTest = Callable[[str], re.Match[str] | None]
"""Test of the text after a quote: whether the quote ends a string there."""


def _ends_member(text: str) -> re.Match[str] | None:
    return AFTER_QUOTED_MEMBER.match(text)


def _ends_bare_member(text: str) -> re.Match[str] | None:
    return AFTER_BARE_MEMBER.match(text)


def _ends_entry(text: str) -> re.Match[str] | None:
    return AFTER_ENTRY.match(text)


class _Reader:
    """Reader of one text, by recursive descent: every method takes a position and returns the one after its value."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_object(self, at: int, depth: int = 0) -> tuple[dict[str, Any], int]:
        members: list[tuple[str, Any]] = []
        try:
            at = self._skip(at + 1)
            while self._char(at) != "}":
                ends = _ends_member if self._text[at] in QUOTES else _ends_bare_member
                key, at = self._key(at)
                members.append((key, None))
                value, at = self._value(self._skip(at), depth, ends)
                members[-1] = key, value
                at = self._separator(at, "}")
        except UnreadableJson as error:
            error.keys = [key for key, _ in members]
            raise
        return merge_members(members), at + 1

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        entries: list[Any] = []
        at = self._skip(at + 1)
        while self._char(at) != "]":
            value, at = self._value(at, depth, _ends_entry)
            entries.append(value)
            at = self._separator(at, "]")
        return entries, at + 1

    def _separator(self, at: int, end: str) -> int:
        """Return the position of the next key or entry, or of the end. Without a comma, a space must be there."""
        after = self._skip(at)
        if self._char(after) == ",":
            return self._skip(after + 1)
        if self._text[after] != end and after == at:
            self._fail(after)
        return after

    def _key(self, at: int) -> tuple[str, int]:
        char = self._char(at)
        if char in QUOTES:
            end = self._text.find(QUOTES[char], at + 1, at + LOOKAHEAD)
            if end < 0:
                self._fail(len(self._text) if len(self._text) < at + LOOKAHEAD else at)
            key, end = self._text[at + 1 : end], end + 1
        else:
            match = BARE_KEY.match(self._text, at)
            if match is None:
                self._fail(at)
            key, end = match[0], match.end()
        colon = self._skip(end)
        if self._char(colon) != ":":
            self._fail(colon)
        return key, colon + 1

    def _value(self, at: int, depth: int, ends: EndTest) -> tuple[Any, int]:
        char = self._char(at)
        if char in "{[":
            if depth == MAX_DEPTH:
                self._fail(at)
            return self.read_object(at, depth + 1) if char == "{" else self._list(at, depth + 1)
        if char in QUOTES:
            return self._string(at, ends)
        match = BARE_VALUE.match(self._text, at)
        if match is None:
            self._fail(at)
        bare = REMARK.sub("", match[0]).rstrip()
        if not bare:
            self._fail(at)
        value = LITERALS[bare] if bare in LITERALS else parse_number(bare) if NUMBER.fullmatch(bare) else bare
        return value, at + len(bare)

    def _string(self, at: int, ends: EndTest) -> tuple[str, int]:
        """Read a string up to the first of its quotes that something follows which can stand after a value.

        A brace after a quote may belong to a brace within the string, as in `"it returns {"x": "y"} here"`.
        """
        closing, start, doubtful = QUOTES[self._text[at]], at + 1, 0
        for quote in ESCAPE_OR_QUOTE.finditer(self._text, start):
            end = quote.end()
            if doubtful and end > doubtful + LOOKAHEAD:
                break
            match = ends(self._text[end : end + LOOKAHEAD]) if quote[0] == closing else None
            if match is None:
                continue
            inside = self._text[max(start, end - LOOKAHEAD) : end]
            if not match[0].endswith("}") or inside.count("{") <= inside.count("}"):
                return _unescape(self._text[start : end - 1]), end
            doubtful = doubtful or end
        if not doubtful:
            self._fail(len(self._text))
        return _unescape(self._text[start : doubtful - 1]), doubtful

    def _skip(self, at: int) -> int:
        """Return the position after spaces and comments. Raise UnreadableJson at the end of the text, where no value
        ends."""
        while True:
            at = SPACE.match(self._text, at).end()  # type: ignore[union-attr]
            if self._text.startswith("/*", at):
                end = self._text.find("*/", at + 2)
            elif self._text.startswith(("//", "#"), at):
                end = self._text.find("\n", at) - 1
            else:
                break
            at = end + 2 if end >= 0 else len(self._text)
        if at >= len(self._text):
            self._fail(at)
        return at

    def _char(self, at: int) -> str:
        if at >= len(self._text):
            self._fail(at)
        return self._text[at]

    def _fail(self, at: int) -> NoReturn:
        raise UnreadableJson(at, is_cut=at >= len(self._text))


def _unescape(text: str) -> str:
    """Return a string with its escapes replaced. Quotes and control characters that JSON escapes are accepted."""
    try:
        return str(STRICT.decode(f'"{QUOTE.sub(_escape_quote, text)}"'))
    except ValueError:
        return text


QUOTE = re.compile(r'\\.|"', re.DOTALL)


def _escape_quote(match: re.Match[str]) -> str:
    return '\\"' if match[0] == '"' else match[0]
