"""A type of values that a sweep varies: ratios such as 1/8, which are typed as text and are numbers on an axis."""

from benchmarks.change_cost.recipe import Create, Edit, Recipe

TYPE = '''"""Ratios as text, such as 1/8."""

from __future__ import annotations

import re
from typing import Self

PATTERN = re.compile(r"(\\d{1,9})/([1-9]\\d{0,8})", re.ASCII)


class Ratio(str):
    """A ratio of two whole numbers, as it was typed. Raise ValueError for any other text."""

    def __new__(cls, text: str) -> Self:
        if not PATTERN.fullmatch(text):
            raise ValueError("must be a ratio such as 1/8")
        return super().__new__(cls, text)

    @property
    def number(self) -> float:
        """Return the value of the ratio."""
        over, under = self.split("/")
        return int(over) / int(under)
'''

TEST = '''"""Ratios: typed in the form of a sweep, planned, on an axis, and in a file."""

import pytest

from runs.launching.config_form import SETTINGS
from runs.launching.sweeps.key_axis import key_axis
from runs.launching.sweeps.plan import plan_runs
from runs.launching.sweeps.values import file_value, parse_values
from workers.config import ConfigError, preset

KEY = "evaluation.share"
BASE = preset("es-micro").config


def test_ratios_are_swept_from_the_form_to_the_file() -> None:
    values = parse_values(SETTINGS[KEY], "1/2, 1/8, 2/8")
    cells = [run.cell for run in plan_runs(BASE, {KEY: values}, [], [0])]
    assert cells == [{KEY: "1/2"}, {KEY: "1/8"}, {KEY: "2/8"}]
    axis = key_axis(KEY, cells, 12, 5)
    assert [stop.label for stop in axis.stops] == ["1/8", "2/8", "1/2"]
    assert [axis.position(cell) for cell in cells] == [1.0, 0.0, pytest.approx(1 / 3)]
    assert file_value("1/8") == "1/8"


def test_other_texts_are_refused_with_an_example() -> None:
    for value in ("1/0", "half", 0.5):
        with pytest.raises(ConfigError) as refused:
            plan_runs(BASE, {KEY: [value]}, [], [0])
        [problem] = refused.value.problems
        assert problem.path == KEY and problem.message.startswith("must be a ratio such as 1/8")
'''

RECIPE = Recipe(
    title="a sweep key type",
    name="Ratio",
    before="8 files",
    goal=4,
    steps=(
        Create("workers/config/ratio.py", TYPE),
        Edit("workers/config/decode.py", '    str: "text",', '    str: "text",\n    Ratio: "a ratio such as 1/8",'),
        Edit(
            "workers/config/decode.py",
            "from workers.config.shallow_json import",
            "from workers.config.ratio import Ratio\nfrom workers.config.shallow_json import",
        ),
        Edit(
            "workers/config/decode.py",
            "    kind = get_origin(hint) or hint\n",
            "    kind = get_origin(hint) or hint\n"
            "    if kind is Ratio and isinstance(value, str):\n"
            "        try:\n"
            "            value = Ratio(value)\n"
            "        except ValueError as error:\n"
            "            return str(error), value\n",
        ),
        Edit(
            "workers/config/run.py",
            '    responses: bool = True\n    """Save the responses as records."""\n',
            '    responses: bool = True\n    """Save the responses as records."""\n'
            '    share: Ratio = Ratio("1/1")\n    """Share of the held-out prompts that are asked."""\n',
        ),
        Edit(
            "workers/config/run.py",
            "from workers.config.probe import ProbeConfig\n",
            "from workers.config.probe import ProbeConfig\nfrom workers.config.ratio import Ratio\n",
        ),
        Edit(
            "runs/launching/sweeps/values.py",
            "from workers.config import ConfigField\n",
            "from workers.config import ConfigField\nfrom workers.config.ratio import PATTERN, Ratio\n",
        ),
        Edit(
            "runs/launching/sweeps/values.py",
            "    is_number = isinstance(",
            "    if isinstance(value, str) and PATTERN.fullmatch(value):\n"
            "        return Ratio(value).number\n"
            "    is_number = isinstance(",
        ),
        Create("tests/runs/launching/sweeps/test_ratios.py", TEST),
    ),
    tests=("tests/runs/launching/sweeps/test_ratios.py", "tests/runs/launching/sweeps/test_key_axis.py"),
    regenerate=(("sh", "-c", ".venv/bin/python -m workers.config > docs/config.md"),),
)
