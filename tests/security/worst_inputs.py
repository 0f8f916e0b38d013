"""Texts on which a regular expression may take the most time, made from the expression itself.

A backtracking matcher takes polynomial or exponential time if a repeat can match a long run in several ways, or from
many starts, and what follows fails. Each text is a prefix that leads to a repeat, a unit that is repeated, and an end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

Node: TypeAlias = tuple[Any, Any]
REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
SINGLE = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY}
MIN_REPEAT = 20
"""A repeat of up to this number is no loop."""
COMMON = " \n\ta0A_.-,:;/\\\"'([{<|!é\u3000\x00"
"""Characters to sample sets and categories with, the most telling ones first."""
UNITS = (" ", "\n", "a", "0", "_", "a ", "\n ", "a\n", "a.", "-")
"""Units that are tried for each expression."""
ENDS = ("", "\x00", "\n!")
MAX_CHARACTERS_A_REPEAT = 4
MAX_UNITS = 60
LITERALS_FIRST = 4
"""Variants of a sample from this number on prefer characters that the expression names, such as the quotation mark."""
VARIANTS = (0, 1, 2, 4, 5, 6)


@dataclass(frozen=True)
class Attack:
    """A shape of texts: `prefix`, a repeated `unit`, `end`."""

    prefix: str
    unit: str
    end: str

    def text(self, length: int) -> str:
        """Return a text of about this length."""
        return self.prefix + self.unit * max(1, length // len(self.unit)) + self.end


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Return the shapes of text to try."""
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    sampler = _Sampler(tree, pattern.flags)
    shapes: dict[Attack, None] = {}
    units = dict.fromkeys([*UNITS, *sampler.characters])
    wholes = [sampler.text(tree, variant, least) for variant in range(3) for least in (0, 1)]
    units |= dict.fromkeys(part for whole in wholes for part in (whole, whole[:-1], whole + " ") if part)
    for prefix, body, rest in _repeats(tree, []):
        prefixes = list(dict.fromkeys(sampler.text(prefix, variant, least) for variant in range(2) for least in (0, 1)))
        own = sampler.units(body, rest)
        units |= dict.fromkeys(prefixes[:1]) | dict.fromkeys(prefixes[0] + unit for unit in own[:2])
        units |= dict.fromkeys(own)
        shapes |= {Attack(start, unit, end): None for start in prefixes for unit in own for end in ENDS}
    units.pop("", None)
    shapes |= {Attack("", unit, end): None for unit in list(units)[:MAX_UNITS] for end in ENDS[::2]}
    return list(shapes)


def _repeats(nodes: Sequence[Node], prefix: list[Node]) -> Iterator[tuple[list[Node], Sequence[Node], list[Node]]]:
    """Yield (what precedes it, its body, what follows it) of each long repeat."""
    for index, (kind, value) in enumerate(nodes):
        before, rest = [*prefix, *nodes[:index]], list(nodes[index + 1 :])
        if kind in REPEATS and value[1] > MIN_REPEAT:
            yield before, value[2], rest
        for child in _children(kind, value):
            yield from _repeats(child, before)


def _children(kind: Any, value: Any) -> list[Sequence[Node]]:
    """Return the sequences of nodes within a node."""
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.ATOMIC_GROUP:
        return [value]
    if kind is _constants.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    if kind in REPEATS or kind in {_constants.SUBPATTERN, _constants.ASSERT, _constants.ASSERT_NOT}:
        return [value[-1]]
    return []


class _Sampler:
    """Texts that parts of an expression match."""

    def __init__(self, tree: Any, flags: int) -> None:
        self._state, self._flags = tree.state, flags & ~re.DEBUG
        literals = dict.fromkeys(character for character in _literals(tree) if character.isprintable())
        self.characters = list(literals)[: MAX_CHARACTERS_A_REPEAT * 3]
        self._alphabet = list(dict.fromkeys([*COMMON, *literals]))

    def text(self, nodes: Sequence[Node], variant: int, least: int) -> str:
        """Return a short text of these nodes: of branches the one of that number, of repeats at least `least`."""
        return "".join(self._text(kind, value, variant, least) for kind, value in nodes)

    def units(self, body: Sequence[Node], rest: Sequence[Node]) -> list[str]:
        """Return texts of the body of a repeat, first those that may belong to what follows it as well."""
        if len(body) != 1 or body[0][0] not in SINGLE:
            texts = [self.text(body, variant, least) for variant in VARIANTS for least in (0, 1)]
            return list(dict.fromkeys(text for text in texts if text))
        matched = self._matched(body[0])
        shared = [character for node in _singles(rest) for character in self._matched(node)[:8] if character in matched]
        return list(dict.fromkeys([*shared, *matched]))[:MAX_CHARACTERS_A_REPEAT]

    def _text(self, kind: Any, value: Any, variant: int, least: int) -> str:
        if kind is _constants.LITERAL:
            return chr(value)
        if kind in SINGLE:
            matched = self._matched((kind, value)) or [""]
            if variant >= LITERALS_FIRST:
                # Half of the number selects the character, since its parity often selects the branch.
                named = [character for character in self.characters if character in matched] or matched
                return named[variant // 2 % len(named)]
            return matched[variant % len(matched)]
        if kind is _constants.BRANCH:
            return self.text(value[1][variant % len(value[1])], variant, least)
        if kind in REPEATS:
            return self.text(value[2], variant, least) * max(value[0], min(least, value[1]))
        if kind in {_constants.SUBPATTERN, _constants.ATOMIC_GROUP}:
            return self.text(value[-1] if kind is _constants.SUBPATTERN else value, variant, least)
        return ""

    def _matched(self, node: Node) -> list[str]:
        part = _parser.SubPattern(self._state, [node])
        fits = _compiler.compile(part, self._flags | re.DOTALL).fullmatch
        is_text = isinstance(self._state.str, str)
        return [c for c in self._alphabet if is_text or c.isascii() if fits(c if is_text else c.encode())]


def _literals(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the characters that an expression names."""
    for kind, value in nodes:
        if kind in {_constants.LITERAL, _constants.NOT_LITERAL}:
            yield chr(value)
        elif kind is _constants.IN:
            yield from (chr(item) for name, item in value if name is _constants.LITERAL)
        for child in _children(kind, value):
            yield from _literals(child)


def _singles(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the nodes of single characters that the next nodes may begin with."""
    for kind, value in nodes[:2]:
        if kind in SINGLE:
            yield kind, value
        for child in _children(kind, value):
            yield from _singles(child[:1])
