"""A site of an earlier release is migrated, its files are followed, and the API answers what that release answered."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.releases.comparing import count, differing
from tests.releases.sites import ANSWERS, RELEASES, python, restored

MOST_BYTES = 2**20
VALUES = 3000


@pytest.mark.slow
@pytest.mark.parametrize("release", sorted(path.parent for path in RELEASES.glob(f"*/{ANSWERS}")), ids=lambda r: r.name)
def test_a_site_of_an_earlier_release_answers_as_it_did_once_it_is_upgraded(release: Path, tmp_path: Path) -> None:
    before = json.loads(gzip.decompress((release / ANSWERS).read_bytes()))
    with restored(release, tmp_path / "data") as environment:
        python("manage.py", "migrate", "--verbosity=0", env=environment)
        python("manage.py", "follow", "--once", env=environment)
        python("-m", "tests.releases.reading", str(tmp_path / "now.json"), env=environment)
    now = json.loads((tmp_path / "now.json").read_text())
    assert count(before) > VALUES
    assert not [*differing(before, now)]
    assert sum(file.stat().st_size for file in release.iterdir()) < MOST_BYTES
