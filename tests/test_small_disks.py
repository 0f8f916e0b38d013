"""The disk of a few megabytes that tests fill."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tests.small_disks import needs_small_disk, small_disk

pytestmark = needs_small_disk


def test_filled_disk_is_full_until_room_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    (folder / "file").write_text("before")
    (folder / "link").symlink_to("file")
    with small_disk(folder, 1) as disk:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "link").is_symlink() and (folder / "link").read_text() == "before"
        disk.fill()
        assert disk.free_bytes() == 0
        with pytest.raises(OSError, match="No space left") as refusal:
            (folder / "new").write_text("x")
        assert refusal.value.errno == errno.ENOSPC
        disk.make_room()
        (folder / "new").write_text("x")
    assert not list(folder.iterdir()), "the disk is gone with all that lay on it"
    assert list(tmp_path.iterdir()) == [folder]
