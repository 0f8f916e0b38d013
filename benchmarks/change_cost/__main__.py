"""Count the existing files that a typical change modifies; show the change and run its tests:

    python -m benchmarks.change_cost [RECIPE ...] [--keep]

Each recipe is applied to a scratch copy of the tracked and new files, its tests run there, and its diff is printed.
Exits 1 if a recipe does not fit, costs more than its goal, or its tests fail. `--keep` keeps the copies.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.change_cost.recipe import PRODUCTION, Recipe, RecipeError

ROOT = Path(__file__).resolve().parents[2]
GIT = ("git", "-c", "user.name=change-cost", "-c", "user.email=change-cost@localhost", "-c", "commit.gpgsign=false")
HEADER = ("change", "before", "modified", "goal", "listings", "new files", "result")
LINES_GOAL = 117_000


def names() -> list[str]:
    """Return the names of the recipes."""
    stems = (path.stem for path in (Path(__file__).parent / "recipes").glob("*.py"))
    return sorted(stem for stem in stems if not stem.startswith("_"))


def load(name: str) -> Recipe:
    """Return a recipe by its name."""
    recipe = importlib.import_module(f"benchmarks.change_cost.recipes.{name}").RECIPE
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipes/{name}.py must define RECIPE")
    return recipe


def copy_tree(folder: Path) -> None:
    """Copy the tracked and the new files of this tree, and commit them there, so that a diff shows the recipe alone."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard", root=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    _git("init", "--quiet", root=folder)
    _git("add", "--all", "--force", ".", ":!.venv", root=folder)
    _git("commit", "--quiet", "--message", "before", root=folder)


def run_recipe(name: str, recipe: Recipe, folder: Path) -> str:
    """Apply a recipe in a copy, print its diff, and run its tests. Return the result in words."""
    try:
        recipe.apply(folder)
    except RecipeError as error:
        return f"does not fit: {error}"
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    if any("/migrations/" in path for path in recipe.created):
        # A database of other migrations would replace the one that the tests of this tree share.
        env["ESWEB_CACHE"] = str(folder / ".cache")
    for command in recipe.regenerate:
        subprocess.run(command, cwd=folder, env=env, check=True)
    _git("add", "--all", "--force", ".", ":!.venv", root=folder)
    _git("commit", "--quiet", "--message", f"{name}: {recipe.title}", root=folder)
    print(_git("show", "--stat=120", "--patch", "--format=%s", root=folder), flush=True)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *recipe.tests]
    passed = subprocess.run(argv, cwd=folder, env=env, check=False).returncode == 0
    if not passed:
        return "its tests fail"
    return "passed" if len(recipe.modified) <= recipe.goal else "modifies more than its goal"


def production_lines() -> int:
    """Return the lines of Python under esweb, runs, judging and workers, without migrations."""
    listed = _git(
        "ls-files", "--cached", "--others", "--exclude-standard", "esweb", "runs", "judging", "workers", root=ROOT
    )
    files = (ROOT / name for name in listed.splitlines() if name.endswith(".py") and "/migrations/" not in name)
    return sum(len(file.read_bytes().splitlines()) for file in files if file.is_file())


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as aligned columns."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _git(*arguments: str, root: Path) -> str:
    return subprocess.run([*GIT, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Run the selected recipes, or all, and print one table."""
    parser = argparse.ArgumentParser(description="Count the files that a typical change modifies.")
    parser.add_argument("recipes", nargs="*", choices=[[], *names()], help="all if none is named")
    parser.add_argument("--keep", action="store_true", help="keep the copies, and print where they are")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = [HEADER]
    are_good = []
    for name in options.recipes or names():
        recipe = load(name)
        print(f"\n== {name}: {recipe.title} ==", flush=True)
        folder = Path(tempfile.mkdtemp(prefix=f"esweb-{name}-"))
        try:
            copy_tree(folder)
            result = run_recipe(name, recipe, folder)
        finally:
            if options.keep:
                print(f"kept: {folder}")
            else:
                shutil.rmtree(folder, ignore_errors=True)
        numbers = (len(recipe.modified), recipe.goal, recipe.listings, len(recipe.created))
        rows.append((recipe.title, recipe.before, *map(str, numbers), result))
        are_good.append(result == "passed")
    lines = production_lines()
    print(f"\n{table(rows)}\n\nFiles count if they exist before the change, under {', '.join(PRODUCTION)}.")
    print(f"Lines of esweb, runs, judging and workers without migrations: {lines} (goal {LINES_GOAL}).")
    return 0 if all(are_good) else 1


if __name__ == "__main__":
    sys.exit(main())
