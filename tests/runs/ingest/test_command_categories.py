"""`manage.py categories`: prompts that came without categories learn them from their data set, by their texts."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from runs.models import Prompt
from tests.runs.viewer_responses import make_response, model

ROWS = [
    {"prompt": "Request 1? ", "response_0_harm_category": {"Drugs": True}, "prompt_source": "web"},
    {"prompt": "Request 2?", "response_0_harm_category": {"Drugs": False}},
    {"prompt": "Not asked here?", "category": "poetry"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "test.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


def categories_command(*arguments: object) -> str:
    out = StringIO()
    call_command("categories", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_every_prompt_of_the_text_learns_it_once(experiment, runs_dir, file):
    model(experiment, "base", [make_response(n, "No", 1.0, 1.0, categories=("kept",) * (n == 0)) for n in range(4)])
    assert (
        "of its 3 prompts 2 have categories; 2 stored prompts have these texts, and 2 of them were updated"
        in categories_command(file)
    )
    categories = dict(Prompt.objects.values_list("name", "categories"))
    assert categories == {"0": ["Drugs", "kept", "source: web"], "1": ["Drugs", "source: web"], "2": [], "3": []}
    assert "2 stored prompts have these texts, and 0 of them were updated" in categories_command(file)


def test_invalid_data_set_is_refused_with_its_line(db, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"question": "?"}\n')
    with pytest.raises(CommandError, match="line 1: prompt must be text that is not blank, but is missing"):
        categories_command(tmp_path / "bad.jsonl")
