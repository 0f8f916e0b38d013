"""The run.json files of the docs are configs that can be used as they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.config import RunConfig

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "docs" / "examples").glob("*.json"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_can_be_run(path: Path) -> None:
    config = RunConfig.read(path)

    assert config.steps > 0


def test_there_is_one_of_each_method() -> None:
    assert {RunConfig.read(path).method for path in EXAMPLES} == {"es", "grpo"}
