"""Names, docstrings and texts keep to the rules of CONTRIBUTING, as far as a program can check them."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APPS = ("client", "esweb", "judging", "runs", "workers")
BANNED = {"asked", "found", "kept", "said", "told"}
"""Participles that say nothing about a value. A name that contains one is allowed only if ALLOWED lists it."""
VAGUE_CLASS = re.compile(
    r"_?(Asked|Told|Said|Found|Kept|Made|Shown|Known|Whose|How|Why|What|Standing|Place|Brought|Handed|Seen|Tried|Words)"
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
    return [path for path in paths if "migrations" not in path.parts and "vendor" not in path.parts]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that a module names: variables, parameters, functions, classes."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "lineno", 1), text


@pytest.mark.parametrize("app", [*APPS, "benchmarks", "tests"])
def test_names_say_what_a_value_is(app: str) -> None:
    hits = [
        f"{path}:{line} {name}"
        for path in listed(f"{app}/*.py")
        for line, name in names(path)
        if BANNED & set(name.lower().replace("not_found", "").split("_")) and name not in ALLOWED
    ]
    assert hits == []


def test_allowed_names_are_in_use() -> None:
    used = {name for path in listed("*.py") for _, name in names(path)}
    assert set(ALLOWED) <= used


def test_classes_are_nouns() -> None:
    classes = [
        (path, node) for path in listed("*.py") for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
    ]
    assert [f"{path}:{node.lineno} {node.name}" for path, node in classes if VAGUE_CLASS.fullmatch(node.name)] == []


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
