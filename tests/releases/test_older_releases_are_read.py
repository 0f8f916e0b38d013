"""A site of an earlier release is migrated, its files are followed, and the API gives the responses of that release."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.releases.comparison import count_values, find_differences
from tests.releases.sites import ANSWERS, RELEASES, restore_release, run_python
from workers.config.presets import FORMER_NAMES

MAX_BYTES = 2**20
MIN_VALUES = 3000
PRESETS = "/api/v1/presets"
CHECKPOINTS = re.compile(r"/api/v1/runs/\w+/checkpoints")
TEXT = re.compile(
    r"\|/api/v1/presets\|content\|\d+\|why|\|/api/v1/runs/\w+/checkpoints(/\d+/download\|content\|detail|\|content\|only_saved)"
)
"""Sentences of the program, such as the reason of an error; all else comes from the stored site."""


@pytest.mark.slow
@pytest.mark.parametrize("release", sorted(path.parent for path in RELEASES.glob(f"*/{ANSWERS}")), ids=lambda r: r.name)
def test_upgraded_site_gives_same_answers(release: Path, tmp_path: Path) -> None:
    old_answers = json.loads(gzip.decompress((release / ANSWERS).read_bytes()))
    with restore_release(release, tmp_path / "data") as environment:
        run_python("-m", "tests.releases.responses", str(tmp_path / "now.json"), "--upgrade", env=environment)
    new_answers = json.loads((tmp_path / "now.json").read_text())
    # A later release may have more presets, as it may have more fields. Presets with a new name keep their former one.
    old_presets = old_answers[PRESETS]
    old_presets["content"] = [preset for preset in old_presets["content"] if preset["name"] not in FORMER_NAMES]
    names = {preset["name"] for preset in old_presets["content"]}
    presets = new_answers[PRESETS]
    presets["content"] = [preset for preset in presets["content"] if preset["name"] in names]
    for path in filter(CHECKPOINTS.fullmatch, old_answers):
        # A later release also lists checkpoints whose files are no longer there.
        items = new_answers[path]["content"]["items"]
        new_answers[path]["content"]["items"] = [item for item in items if item.get("availability") != "gone"]
    assert count_values(old_answers) > MIN_VALUES
    differences = find_differences(old_answers, new_answers)
    assert [path for path in differences if not TEXT.fullmatch(path)] == []
    assert sum(file.stat().st_size for file in release.iterdir()) < MAX_BYTES
