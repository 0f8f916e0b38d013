"""The guide add-a-task says what the recipe of a task does, which `python -m benchmarks.change_cost task` tests."""

from __future__ import annotations

from pathlib import Path

from benchmarks.change_cost.recipe import PRODUCTION, Create, Edit
from benchmarks.change_cost.recipes.task import GUIDE, RECIPE
from tests.guides.blocks import read_blocks, without_blocks


def test_guide_names_the_files_that_a_task_modifies() -> None:
    text = without_blocks(GUIDE)
    assert [path for path in RECIPE.modified if f"`{path}`" not in text] == []


def test_guide_has_the_new_production_files_of_a_task() -> None:
    text, blocks = without_blocks(GUIDE), [block.text for block in read_blocks(GUIDE)]
    files = [step for step in RECIPE.steps if isinstance(step, Create) and step.path.split("/")[0] in PRODUCTION]
    assert [file.path for file in files if f"`{Path(file.path).parent}`" not in text] == []
    assert [file.path for file in files if not any(block.endswith(file.text) for block in blocks)] == []


def test_guide_has_the_rows_that_a_task_adds() -> None:
    edits = [step.new for step in RECIPE.steps if isinstance(step, Edit)]
    rows = [line.strip(" ,") for text in edits for line in text.splitlines() if line.startswith('    "rhyme":')]
    assert len(rows) == 2 and [row for row in rows if f"`{row}`" not in without_blocks(GUIDE)] == []
