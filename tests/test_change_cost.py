"""Recipes of typical changes fit the tree and stay within their goals; `python -m benchmarks.change_cost` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.change_cost.__main__ import load, names
from benchmarks.change_cost.recipe import Create, Edit, Recipe, RecipeError, unfit_steps

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", names())
def test_recipe_fits_the_tree(name: str) -> None:
    assert unfit_steps([load(name)], ROOT) == []


@pytest.mark.parametrize("name", names())
def test_recipe_modifies_at_most_its_goal(name: str) -> None:
    recipe = load(name)
    assert len(recipe.modified) <= recipe.goal, recipe.modified


@pytest.mark.parametrize("name", names())
def test_recipe_creates_the_tests_that_it_runs(name: str) -> None:
    recipe = load(name)
    assert {test.split("::")[0] for test in recipe.tests} & set(recipe.created)


def test_unfit_steps_names_text_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.py").write_text("x = 1\n")
    steps = (Edit("runs/a.py", "y = 1", "y = 2"), Create("runs/a.py", ""), Edit("runs/b.py", "", ""))
    assert unfit_steps([Recipe("a change", "y", "-", 1, steps, ())], tmp_path) == [
        "a change: runs/a.py does not contain this text once: 'y = 1'",
        "a change: runs/a.py exists",
        "a change: runs/b.py does not contain this text once: ''",
    ]


def test_recipe_counts_existing_production_files(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "runs" / "a.py").write_text("x = 1\nz = 1\n")
    (tmp_path / "docs" / "a.md").write_text("x\n")
    steps = (
        Edit("runs/a.py", "x = 1", "x = new"), Edit("runs/a.py", "z = 1", "z = 2"), Edit("docs/a.md", "x", "new"),
        Create("runs/new.py", "new = 1\n"),
    )  # fmt: skip
    recipe = Recipe("a change", "new", "-", 1, steps, ())
    recipe.apply(tmp_path)
    assert (recipe.modified, recipe.created, recipe.listings) == (["runs/a.py"], ["runs/new.py"], 1)
    assert (tmp_path / "runs" / "a.py").read_text() == "x = new\nz = 2\n"
    with pytest.raises(RecipeError, match="must contain this text once, not 0 times: 'x = 1'"):
        recipe.apply(tmp_path)
