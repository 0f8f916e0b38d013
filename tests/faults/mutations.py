"""Faults that a program can plant: one expression of one function, and what replaces it.

A fault is of one of six kinds: another operator, a boundary that includes what it excluded, a condition that is
negated, a call that is dropped, two arguments that are swapped, a wrong constant. Only code of functions is changed,
since only such a line is executed by some tests and not by others.
"""

from __future__ import annotations

import ast
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

PACKAGES = ("esweb", "runs", "judging", "workers", "client/esweb_client")
GENERATED = ("migrations/", "translation/marked.py")
KINDS = ("operator", "boundary", "condition", "dropped call", "swapped arguments", "constant")

OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "+",
    ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
BOUNDARIES = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}


@dataclass(frozen=True)
class Fault:
    """A replacement of one expression. `occurrence` counts equal originals within the function, from 0."""

    path: str
    function: str
    line: int
    kind: str
    original: str
    replacement: str
    occurrence: int


@dataclass(frozen=True)
class Location:
    """An expression that can be changed, with its position in the file: characters from `start` to `end`."""

    fault: Fault
    start: int
    end: int


class Source:
    """The text of a file, and where the nodes of its syntax tree are in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        # A node's column counts bytes of UTF-8, and a line ends only with "\n" for the parser.
        self._lines = [f"{line}\n".encode() for line in text.split("\n")]
        self._starts = list(accumulate((len(line.decode()) for line in self._lines), initial=0))

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Return the positions of the node's first character and behind its last."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._position(node.lineno, node.col_offset), self._position(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.keyword) -> str:
        """Return the node's text."""
        start, end = self.span(node)
        return self.text[start:end]

    def _position(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())


def plan(root: Path, number: int, seed: int) -> list[Fault]:
    """Return faults that are spread evenly over the code of `root`, so that a package has as many as its size says.

    The code is one sequence of places, cut into `number` equal parts; each part gives one fault, and the kinds take
    turns as far as a part has them.
    """
    draw = random.Random(seed)
    every_fault = [place.fault for path in _sources(root) for place in places(root, path)]
    parts = [every_fault[len(every_fault) * i // number : len(every_fault) * (i + 1) // number] for i in range(number)]
    faults = []
    for i, part in enumerate(parts):
        wanted = [fault for fault in part if fault.kind == KINDS[i % len(KINDS)]]
        faults.append(draw.choice(wanted or part))
    return faults


def places(root: Path, path: str) -> list[Location]:
    """Return every place of a file, in the order of the file."""
    source = Source((root / path).read_text(encoding="utf-8"))
    result: list[Location] = []
    counts: dict[tuple[str, str, str, str], int] = {}
    for function, parent, node in _expressions(ast.parse(source.text), ""):
        start, end = source.span(node)
        for kind, replacement in _replacements(source, parent, node):
            key = (function, source.text[start:end], kind, replacement)
            fault = Fault(path, function, node.lineno, kind, key[1], replacement, counts.setdefault(key, 0))
            counts[key] += 1
            result.append(Location(fault, start, end))
    return sorted(result, key=lambda place: (place.start, place.end))


def find(root: Path, fault: Fault) -> Location | None:
    """Return where a planned fault is in the present code, or None if that code is no longer there."""
    if not (root / fault.path).exists():
        return None
    identity = (fault.function, fault.kind, fault.original, fault.replacement, fault.occurrence)
    for place in places(root, fault.path):
        other = place.fault
        if (other.function, other.kind, other.original, other.replacement, other.occurrence) == identity:
            return place
    return None


def _sources(root: Path) -> list[str]:
    argv = ["git", "ls-files", *(f"{package}/*.py" for package in PACKAGES)]
    files = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    return [file for file in files if not any(part in file for part in GENERATED)]


def _expressions(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    """Yield the expressions within functions, each with the function's dotted name and its parent in the tree.

    Left out are annotations, decorators, defaults, patterns and f-strings, in which positions are not exact.
    """
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.pattern):
                continue
            if isinstance(child, ast.expr) and "()" in function:
                yield function, node, child
            yield from _expressions(child, _name_within(function, child))


def _name_within(function: str, node: ast.AST) -> str:
    """Return the dotted name of what `node` defines, such as `Class.method()`, or the name of what contains it."""
    if isinstance(node, ast.ClassDef):
        return f"{function}.{node.name}".lstrip(".")
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return f"{function}.{node.name}()".lstrip(".")
    return function


def _replacements(source: Source, parent: ast.AST, node: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each change of this expression."""
    text = source.of
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
        yield "operator", f"({text(node.left)}) {OPERATORS[type(node.op)]} ({text(node.right)})"
    if isinstance(node, ast.BoolOp):
        yield "operator", f" {OPERATORS[type(node.op)]} ".join(f"({text(value)})" for value in node.values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = "boundary" if type(node.ops[0]) in BOUNDARIES else "operator"
        changed = {**OPERATORS, **BOUNDARIES}[type(node.ops[0])]
        yield kind, f"({text(node.left)}) {changed} ({text(node.comparators[0])})"
    if isinstance(parent, ast.If | ast.IfExp | ast.While) and node is parent.test:
        yield "condition", f"not ({text(node)})"
    if isinstance(parent, ast.Expr) and isinstance(node, ast.Call | ast.Await):
        yield "dropped call", "None"
    if isinstance(node, ast.Call) and (swapped := _swapped(source, node)):
        yield "swapped arguments", swapped
    if isinstance(node, ast.Constant) and (value := _wrong(node.value)):
        yield "constant", value


def _is_text(node: ast.BinOp) -> bool:
    """Return whether an operand is a literal text: every change of it fails at once, and proves nothing."""
    sides = (node.left, node.right)
    return any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str) for side in sides)


def _swapped(source: Source, node: ast.Call) -> str | None:
    """Return the call with its first two arguments swapped, or None if it cannot be."""
    arguments = [source.of(argument) for argument in node.args]
    if len(arguments) < 2 or arguments[0] == arguments[1] or any(isinstance(a, ast.Starred) for a in node.args[:2]):
        return None
    keywords = [source.of(keyword) for keyword in node.keywords]
    return f"{source.of(node.func)}({', '.join([arguments[1], arguments[0], *arguments[2:], *keywords])})"


def _wrong(value: object) -> str | None:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        return repr(value * 2 or 1.0)
    return None
