"""The reference of run.json matches the code."""

from __future__ import annotations

from pathlib import Path

from workers.config import RunConfig, config_fields
from workers.config.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "config.md"


def test_config_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: make config-reference"


def test_every_knob_has_its_row() -> None:
    page = reference()
    rows = {k.path: f"| `{k.path}` (task {k.tag}) |" if k.tag else f"| `{k.path}` |" for k in config_fields(RunConfig)}
    assert [path for path, row in rows.items() if row not in page] == []
