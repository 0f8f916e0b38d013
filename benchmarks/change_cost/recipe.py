"""A recipe of a change: its edits, its new files, and the tests that show that it is complete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PRODUCTION = ("client", "esweb", "judging", "runs", "static", "templates", "workers")
"""Folders whose files count. Tests, docs, and files that a command regenerates are listed and do not count."""


class RecipeError(Exception):
    """Error for a recipe that no longer fits the tree. The message names the file and the text."""


@dataclass(frozen=True)
class Edit:
    """Replace `old`, which occurs exactly once in an existing file, with `new`."""

    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Change the file. Raise RecipeError if the text is not there exactly once."""
        file = root / self.path
        if not file.is_file():
            raise RecipeError(f"{self.path} does not exist; correct the recipe's edit of it")
        text = file.read_text(encoding="utf-8")
        if (n := text.count(self.old)) != 1:
            raise RecipeError(f"{self.path} must contain this text once, not {n} times: {self.old!r}")
        file.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Create:
    """Write a new file."""

    path: str
    text: str

    def apply(self, root: Path) -> None:
        """Write the file. Raise RecipeError if it exists."""
        file = root / self.path
        if file.exists():
            raise RecipeError(f"{self.path} exists already; name another file in the recipe")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.text, encoding="utf-8")


@dataclass(frozen=True)
class Recipe:
    """A change of one kind, complete with its tests.

    before: what it cost on commit cbc7c737, counted from the history. goal: the most existing production files that it
    may modify. name: the new thing's identifier, whose listings are counted. tests: arguments of pytest. regenerate:
    commands that rewrite generated files.
    """

    title: str
    name: str
    before: str
    goal: int
    steps: tuple[Edit | Create, ...]
    tests: tuple[str, ...]
    regenerate: tuple[tuple[str, ...], ...] = ()

    @property
    def modified(self) -> list[str]:
        """Return the existing production files that the recipe edits."""
        edited = {step.path for step in self.steps if isinstance(step, Edit)}
        return sorted(path for path in edited if path.split("/", 1)[0] in PRODUCTION)

    @property
    def listings(self) -> int:
        """Return the number of edits of production files that write the new thing's name."""
        return sum(
            isinstance(step, Edit) and step.path in self.modified and self.name in step.new for step in self.steps
        )

    @property
    def created(self) -> list[str]:
        """Return the new files."""
        return [step.path for step in self.steps if isinstance(step, Create)]

    def apply(self, root: Path) -> None:
        """Make the change in a copy of the tree. Raise RecipeError if a step does not fit."""
        for step in self.steps:
            step.apply(root)


def unfit_steps(recipes: Iterable[Recipe], root: Path) -> list[str]:
    """Return a sentence for each step that would not fit this tree if it were the recipe's first of its file."""
    problems = []
    for recipe in recipes:
        seen: set[str] = set()
        for step in recipe.steps:
            file = root / step.path
            if isinstance(step, Create):
                problems += [f"{recipe.title}: {step.path} exists"] if file.exists() else []
            elif step.path not in seen and (
                not file.is_file() or file.read_text(encoding="utf-8").count(step.old) != 1
            ):
                problems.append(f"{recipe.title}: {step.path} does not contain this text once: {step.old!r}")
            seen.add(step.path)
    return problems
