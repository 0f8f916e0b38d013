"""Numbers of a text by value: 84, 84.0, 1,234, "eighty-four", 3/4 and 2 3/4 are Fractions; 30 % is a percentage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 60
"""Digits of a number that is read; longer ones are none."""
ITEM = re.compile(
    r"((?<![\w.,/])\d{1,40} \d{1,40}/\d{1,40}(?![\w/])|(?<!\w)\d+(?:[.,/]\d+)*|(?<!\d)\.\d+)(?![\w])|[^\W\d_]+"
)
GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
DOT_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}")
PLAIN = re.compile(r"\d+(?:\.\d+)?|\.\d+")
DECIMAL_COMMA = re.compile(r"(?:0|[1-9]\d*),\d+")
PIECE = re.compile(r"\d+(?:\.\d+)?")
MIXED = re.compile(r"(\d+) (\d+)/(\d+)")
RATIO = re.compile(r"(\d+)/(\d+)")
SIGN = re.compile(r"(?:^|[\s(=:\"~])-\s?$")
PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b)")
WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}


@dataclass(frozen=True)
class Number:
    """A number in a text, from start to end. is_one: the word "one", which often is no number."""

    value: Fraction
    start: int
    end: int
    is_percent: bool = False
    is_one: bool = False


def number_of(text: str) -> Number | None:
    """Return the number that a text in normal form consists of; None if it holds anything else."""
    text = text.strip().rstrip(".").removesuffix("=").strip()
    numbers = list(numbers_in(text))
    if len(numbers) != 1:
        return None
    left = text[: numbers[0].start] + text[numbers[0].end :]
    return numbers[0] if not left.strip(" -+") else None


def numbers_in(text: str) -> Iterator[Number]:
    """Yield the numbers of a text in normal form, in order."""
    items = list(ITEM.finditer(text))
    at = 0
    while at < len(items):
        item = items[at]
        if item[1]:
            used, scale = _scale(text, items, at)
            for value, start, end in _values(item):
                is_last = end == item.end()
                sign = -1 if SIGN.search(text, max(0, start - 3), start) else 1
                factor = sign * (scale if is_last else 1)
                yield _number(text, factor * value, start, items[used].end() if is_last else end)
            at = used + 1
        elif item[0] in WORDS or (item[0] in SCALES and _is_counted(text, items, at)):
            used, total = _words_value(text, items, at)
            is_one = used == at and item[0] == "one"
            yield _number(text, Fraction(total), item.start(), items[used].end(), is_one=is_one)
            at = used + 1
        else:
            at += 1


def _number(text: str, value: Fraction, start: int, end: int, *, is_one: bool = False) -> Number:
    percent = PERCENT.match(text, end)
    return Number(value, start, percent.end() if percent else end, percent is not None, is_one)


def _values(item: re.Match[str]) -> list[tuple[Fraction, int, int]]:
    """Return (value, start, end) of the numbers that an item of digits, commas and points stands for."""
    written = item[1]
    if len(written) > MAX_DIGITS:
        return []
    if mixed := MIXED.fullmatch(written):
        whole, part, parts = map(int, mixed.groups())
        return [(whole + Fraction(part, parts), item.start(), item.end())] if part < parts else []
    if ratio := RATIO.fullmatch(written):
        return [(Fraction(int(ratio[1]), int(ratio[2])), item.start(), item.end())] if int(ratio[2]) else []
    if PLAIN.fullmatch(written):
        plain = written
    elif GROUPED.fullmatch(written):
        plain = written.replace(",", "")
    elif DOT_GROUPED.fullmatch(written):
        plain = written.replace(".", "").replace(",", ".")
    elif DECIMAL_COMMA.fullmatch(written):
        plain = written.replace(",", ".")
    else:
        pieces = PIECE.finditer(written)
        return [(Fraction(p[0]), item.start() + p.start(), item.start() + p.end()) for p in pieces]
    return [(Fraction(plain), item.start(), item.end())]


def _scale(text: str, items: list[re.Match[str]], at: int) -> tuple[int, int]:
    """Return (the last item of a number in digits, its factor): 84 thousand is 84 · 1000."""
    after = items[at + 1] if at + 1 < len(items) else None
    if after and after[0] in SCALES and text[items[at].end() : after.start()].isspace():
        return at + 1, SCALES[after[0]]
    return at, 1


def _words_value(text: str, items: list[re.Match[str]], at: int) -> tuple[int, int]:
    """Return (the last item of a number in words, its value)."""
    total, current, used, position = 0, 0, at, at
    while position < len(items):
        word = items[position][0]
        joint = text[items[position - 1].end() : items[position].start()] if position > at else ""
        if position > at and joint not in (" ", "-"):
            break
        if word in SCALES:
            current = max(current, 1) * SCALES[word]
            if SCALES[word] >= 1000:
                total, current = total + current, 0
        elif word in WORDS and (position == at or items[position - 1][0] == "and" or _continues(current, WORDS[word])):
            current += WORDS[word]
        elif not (word == "and" and position > at and items[position - 1][0] in SCALES):
            break
        if word != "and":
            used = position
        position += 1
    return used, total + current


def _continues(current: int, value: int) -> bool:
    """Return whether a word adds to the number so far: twenty-one, but not "two three"."""
    if not current:
        return True
    last = current % 100
    return (last == 0 and value < 100) or (last >= 20 and last % 10 == 0 and 0 < value < 10)


def _is_counted(text: str, items: list[re.Match[str]], at: int) -> bool:
    """Return whether a word such as hundred is a number by itself: a hundred."""
    return (at > 0 and items[at - 1][0] in ("a", "one")) or len(items) == 1
