"""Regular expressions of production code: where they are, their text, and the methods that apply them.

They are collected from the syntax tree, without an import of the modules, some of which need torch. A pattern is
evaluated among the constants of its module. One that depends on arguments needs a line in ARGUMENTS or in SAMPLES.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from judging.voting import blinding
from workers.analysis.right import letter_clauses, mention
from workers.executors import diagnosis, failures
from workers.executors.openssh import connection
from workers.executors.slurm import reasons, refusals

ROOT = Path(__file__).parents[2]
PACKAGES = ("client", "esweb", "judging", "runs", "workers")
METHODS = frozenset({"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
UNKNOWN_USE = frozenset({"finditer"})
"""The costliest method, for a pattern that is used as an argument or in a table."""
WRAPPERS = {"Shape": "fullmatch", "RegexValidator": "search"}
"""Classes whose first argument is a pattern, and the method that they apply."""
USE = re.compile(rf"\b([A-Z][A-Z_0-9]*)\.({'|'.join(METHODS)})\b")
CALL = re.compile(rf"\bre\.(?:compile|{'|'.join(METHODS)})\(|\b(?:{'|'.join(WRAPPERS)})\(")
ARGUMENTS: dict[str, dict[str, Any]] = {
    "judging/stats/ratings/reasons.py _FixedParts._all_positions": {"part": " votes in ", "is_last": True},
    "runs/importing/readers/scored_responses.py is_points": {"key": "prompt"},
    "runs/responses/viewer/sql_fragments.py tables": {"k": 1},
    "workers/analysis/right/letter_clauses.py _patterns": {
        "letters": "ABCD",
        "small": "abcd",
        "one": letter_clauses.ONE % "ABCD",
    },
    "workers/tasks/math_answer.py closing_bracket": {"brackets": "{}"},
}
"""Place -> sample values of the variables that the function's patterns depend on."""
SAMPLES: dict[str, Callable[[], Iterable[str | re.Pattern[str]]]] = {
    "judging/voting/blinding.py _pattern": lambda: [blinding._names_pattern(["es-tiny", "a_1", "grpo 0.1"])],
    # Collected at each Shape.
    "workers/config/fields.py Shape.complaint": list,
    "workers/executors/diagnosis.py explain": lambda: [pattern for pattern, _ in diagnosis.OWN_PATTERNS],
    "workers/executors/failures.py PATTERNS": lambda: [pattern for _, pattern, _, _ in failures.PATTERNS],
    "workers/executors/openssh/connection.py describe_error": lambda: [pattern for pattern, _ in connection.SENTENCES],
    "workers/executors/slurm/reasons.py describe_reason": lambda: [pattern for pattern, _ in reasons.LIMITS],
    "workers/executors/slurm/refusals.py _cause": lambda: [
        pattern for table in (refusals.ROOM, refusals.LATER, refusals.EITHER, refusals.SILENCE) for pattern, _ in table
    ],
    "workers/analysis/right/mention.py mention_pattern": lambda: [
        mention.mention_pattern("8"),
        mention.mention_pattern("new york"),
    ],
}
"""Place -> patterns that the function builds, or takes from a table."""


@dataclass(frozen=True)
class Expression:
    """A compiled pattern. `place` is its file, and its constant or the function that applies it."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class NotConstant(Exception):
    """A pattern that depends on arguments, of which no sample is known."""


class _Constants(dict[str, Any]):
    """Names of a module, each evaluated on first use from the statement that binds it."""

    def __init__(self, tree: ast.Module, module: str) -> None:
        super().__init__(__name__=module)
        self._statements = {name: node for node in tree.body for name in _bound_names(node)}

    def __missing__(self, name: str) -> Any:
        if name not in self._statements:
            raise KeyError(name)
        exec(compile(ast.Module([self._statements[name]], []), self["__name__"], "exec"), self)  # noqa: S102
        return self[name]

    def evaluate(self, node: ast.expr, variables: dict[str, Any]) -> Any:
        """Return the value of an expression. Raise NotConstant."""
        try:
            self.update(variables)
            return eval(compile(ast.Expression(node), self["__name__"], "eval"), self)  # noqa: S307
        except NameError as error:
            raise NotConstant(str(error)) from error


def _bound_names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef) else []


@cache
def sources() -> dict[str, str]:
    """Return the text of each module of production code, by its path."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts)
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in sorted(paths)}


def collect() -> list[Expression]:
    """Return every regular expression of production code. Raise NotConstant for one that needs a sample."""
    expressions = (
        expression for path, text in sources().items() if CALL.search(text) for expression in expressions_of(path, text)
    )
    return list(dict.fromkeys(expressions))


def expressions_of(path: str, text: str) -> Iterator[Expression]:
    """Yield the regular expressions of one module. Raise NotConstant."""
    tree, lines = ast.parse(text), text.splitlines()
    constants = _Constants(tree, path.removesuffix(".py").replace("/", "."))
    for statement in tree.body:
        # A walk over all statements would take five times as long.
        if CALL.search("\n".join(lines[statement.lineno - 1 : statement.end_lineno])):
            for scope, call in _calls(statement, ",".join(_bound_names(statement))):
                yield from _expressions_of_call(path, scope, call, constants)


def _calls(statement: ast.stmt, name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls that compile a pattern, each with the name of its constant, or of its class and function."""
    waiting: list[tuple[str, ast.AST]] = [("" if isinstance(statement, ast.FunctionDef) else name, statement)]
    while waiting:
        scope, node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{scope}.{node.name}".removeprefix(".")
        if isinstance(node, ast.Call) and node.args and _name_of(node.func) in {"compile", *METHODS, *WRAPPERS}:
            yield scope, node
        waiting += [(scope, child) for child in ast.iter_child_nodes(node)]


def _name_of(function: ast.expr) -> str:
    """Return the function of `re`, or the name of the class; empty for a method of any other object."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        return function.attr
    return function.id if isinstance(function, ast.Name) and function.id in WRAPPERS else ""


def _expressions_of_call(path: str, scope: str, call: ast.Call, constants: _Constants) -> Iterator[Expression]:
    place, name = f"{path} {scope}", _name_of(call.func)
    methods = frozenset({WRAPPERS.get(name, name)}) if name != "compile" else _uses(path, scope)
    try:
        yield Expression(place, _pattern(name, call, constants, ARGUMENTS.get(place, {})), methods)
    except NotConstant as error:
        if place not in SAMPLES:
            raise NotConstant(f"{place}, line {call.lineno}: give a sample in ARGUMENTS or SAMPLES: {error}") from None
        yield from (Expression(place, re.compile(sample), methods) for sample in SAMPLES[place]())


def _pattern(name: str, call: ast.Call, constants: _Constants, variables: dict[str, Any]) -> re.Pattern[Any]:
    if name in WRAPPERS:
        return re.compile(constants.evaluate(call.args[0], variables), re.ASCII)
    position = {"compile": 1, "split": 3, "sub": 4, "subn": 4}.get(name, 2)
    flags = [*call.args[position : position + 1], *(word.value for word in call.keywords if word.arg == "flags")]
    return re.compile(*(constants.evaluate(node, variables) for node in (call.args[0], *flags)))


@cache
def _all_uses() -> dict[tuple[str, str], set[str]]:
    uses: dict[tuple[str, str], set[str]] = {}
    for path, text in sources().items():
        for name, method in USE.findall(text):
            uses.setdefault((path, name), set()).add(method)
    return uses


def _uses(path: str, scope: str) -> frozenset[str]:
    """Return the methods that the module, and modules that import the constant from it, apply to it."""
    module = path.removesuffix(".py").replace("/", ".").removeprefix("client.")
    names, imports = scope.split(","), f"from {module} import"
    used = (
        methods
        for (user, name), methods in _all_uses().items()
        if name in names and (user == path or imports in sources()[user])
    )
    return frozenset().union(*used) or UNKNOWN_USE
