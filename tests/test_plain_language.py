"""Names, docstrings and texts keep to the rules of CONTRIBUTING, as far as a program can check them."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from symtable import symtable

ROOT = Path(__file__).parents[1]
APPS = ("client", "esweb", "judging", "runs", "workers")
BANNED = {"asked", "found", "kept", "said", "told"}
"""Participles that say nothing about a value. A name that contains one is allowed only if ALLOWED lists it."""
PARTICIPLE = re.compile("|".join(sorted(BANNED)), re.IGNORECASE)
VAGUE_CLASS = re.compile(
    r"_?(Asked|Told|Said|Found|Kept|Made|PageInterval|Known|Whose|How|Why|What|Standing|Place|Brought|Handed|Seen|Tried|Words)"
)
OPENER = re.compile(r"(What|How|Its|Of|Those|Theirs|Whose|Whether|Where|That|As|Which|Who|Why) ")
UNUSUAL = re.compile(
    r"\b(whoever|held against|stands beside|worked out|looked after|anew|heeds?|shut out|let go of)\b",
    re.IGNORECASE,
)
"""Phrases that texts for users do without; the glossary has the usual words."""
MAX_OPENERS = 0.02
MAX_LINE = 120
ALLOWED = {
    "asked": "column and API field of a stored leaderboard: its settings",
    "asked_at": "field of stored tickets of the Ray executor",
    "asked_by": "column: the user who requested a test, a rebuild or a scoring",
    "kept": "API field: records that a push stored; and of online Elo's orders",
    "said": "API field: the summary of an import; and of scorers' agreement",
}
"""Names that are stored or public, with what they are."""


def listed(*patterns: str) -> list[Path]:
    """Return the tracked files that match these patterns, except migrations and third-party files."""
    names = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [Path(name) for name in names.stdout.split()]
    ours = (path for path in paths if "migrations" not in path.parts and "vendor" not in path.parts)
    return [path for path in ours if (ROOT / path).exists()]


@cache
def names_and_classes(path: Path) -> tuple[set[tuple[int, str]], set[tuple[int, str]]]:
    """Return the names with a participle that a module gives, and the names of its classes, with the scopes' lines.

    The compiler's tables of names cost a tenth of a walk over a syntax tree.
    """
    names, classes = set[tuple[int, str]](), set[tuple[int, str]]()
    waiting = [symtable((ROOT / path).read_text(encoding="utf-8"), str(path), "exec")]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        symbols = map(scope.lookup, filter(PARTICIPLE.search, scope.get_identifiers()))
        names |= {
            (scope.get_lineno(), symbol.get_name())
            for symbol in symbols
            if not symbol.is_imported() and (symbol.is_assigned() or symbol.is_parameter())
        }
        if scope.get_type() == "class":
            classes.add((scope.get_lineno(), scope.get_name()))
    return names, classes


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring."""
    waiting: list[ast.AST] = [ast.parse((ROOT / path).read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text
        # Definitions are statements, so no expression is looked at.
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += [
                child
                for child in getattr(node, part, ())
                if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
            ]


def test_names_say_what_a_value_is() -> None:
    hits = [
        f"{path}:{line} {name}"
        for path in listed(*(f"{app}/*.py" for app in (*APPS, "benchmarks", "tests")))
        for line, name in names_and_classes(path)[0]
        if BANNED & set(name.lower().replace("not_found", "").split("_")) and name not in ALLOWED
    ]
    assert hits == []


def test_allowed_names_are_in_use() -> None:
    used = {name for path in listed("*.py") for _, name in names_and_classes(path)[0]}
    assert set(ALLOWED) <= used


def test_classes_are_nouns() -> None:
    classes = [(path, *entry) for path in listed("*.py") for entry in names_and_classes(path)[1]]
    assert len(classes) > 1000
    assert [f"{path}:{line} {name}" for path, line, name in classes if VAGUE_CLASS.fullmatch(name)] == []


def test_docstrings_begin_with_a_verb_or_noun() -> None:
    texts = [(path, *entry) for path in listed(*(f"{app}/*.py" for app in APPS)) for entry in docstrings(path)]
    hits = [f"{path}:{line} {text.splitlines()[0]}" for path, line, text in texts if OPENER.match(text)]
    assert len(hits) <= MAX_OPENERS * len(texts), hits


def test_template_lines_fit_a_screen() -> None:
    hits = [
        f"{path}:{number}"
        for path in listed("templates/*.html")
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > MAX_LINE
    ]
    assert hits == []


def test_texts_use_usual_words() -> None:
    pages = listed("templates/*.html", "docs/guides/*.md", "docs/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
    hits = [
        f"{path}:{number} {match[0]}"
        for path in pages
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
        if "decisions" not in path.parts and (match := UNUSUAL.search(line))
    ]
    assert hits == []
