"""The copy of a far job's directory: every byte once, whatever is cut off, and the exit record last of all."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from workers.attempt import read_json
from workers.executors import mirror
from workers.executors.openssh import there

LINE = b'{"seq": 0}\n'
RECORDS = "records.0.jsonl"


def looked(far: Path, here: Path, file_bytes: int = 1 << 20, total: int = 1 << 24) -> dict[str, Any] | None:
    """What one look at the far directory finds."""
    job = {"key": "k", "folder": str(far), "sizes": mirror.sizes(here)}
    found: dict[str, Any] = there.look([job], file_bytes, total)
    return found.get("k")


def brought(far: Path, here: Path, **limits: int) -> bool:
    """One look, kept; True where more is there."""
    return mirror.keep(here, looked(far, here, **limits))


def folders(tmp_path: Path) -> tuple[Path, Path]:
    far, here = tmp_path / "far", tmp_path / "here"
    for folder in (far, here):
        folder.mkdir()
    mirror.begin(here)
    return far, here


def test_a_file_comes_in_pieces_and_the_exit_record_after_the_last(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / RECORDS).write_bytes(LINE * 100)
    (far / "exit.json").write_text('{"code": 0}')
    behind = [brought(far, here, file_bytes=500) for _ in range(3)]
    assert behind == [True, True, False]
    assert (here / RECORDS).read_bytes() == LINE * 100 and read_json(here / "exit.json") == {"code": 0}


def test_no_exit_record_comes_before_the_records(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / RECORDS).write_bytes(LINE * 100)
    (far / "exit.json").write_text('{"code": 0}')
    brought(far, here, file_bytes=500)
    assert not (here / "exit.json").exists()
    state = mirror.mirrored(here)
    assert state is not None and state.is_behind and state.seen_at is not None


def test_the_same_look_twice_is_kept_once(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / RECORDS).write_bytes(LINE * 3)
    found = looked(far, here)
    mirror.keep(here, found)
    mirror.keep(here, found)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_a_copy_that_was_cut_off_goes_on_from_there(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / RECORDS).write_bytes(LINE * 3)
    (here / RECORDS).write_bytes(LINE + LINE[:4])
    brought(far, here)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_an_old_cache_that_shows_less_changes_nothing(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / RECORDS).write_bytes(LINE)
    (here / RECORDS).write_bytes(LINE * 3)
    assert not brought(far, here)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_a_piece_that_would_leave_a_hole_is_not_kept(tmp_path: Path) -> None:
    _, here = folders(tmp_path)
    piece = {"offset": 10, "data": base64.b64encode(LINE).decode()}
    mirror.keep(here, {"whole": {}, "pieces": {RECORDS: piece}, "behind": False})
    assert (here / RECORDS).read_bytes() == b""


def test_names_that_are_none_of_ours_are_never_written(tmp_path: Path) -> None:
    _, here = folders(tmp_path)
    piece = {"offset": 0, "data": base64.b64encode(b"x").decode()}
    names = ("../outside", "records.0.jsonl/../../outside", "run.json", "/etc/x")
    mirror.keep(here, {"whole": {"../claim": "x"}, "pieces": dict.fromkeys(names, piece), "behind": False})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "here", "mirror.json"]


def test_it_is_settled_once_looks_have_brought_nothing(tmp_path: Path) -> None:
    far, here = folders(tmp_path)
    (far / "log.txt").write_text("words\n")
    settled = []
    for _ in range(3):
        brought(far, here)
        state = mirror.mirrored(here)
        settled.append(state is not None and state.is_settled)
    assert settled == [False, False, True]


def test_of_many_jobs_all_are_heard_even_where_not_all_bytes_fit(tmp_path: Path) -> None:
    jobs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.txt").write_bytes(b"x" * 100)
        (tmp_path / name / "heartbeat.json").write_text('{"n": 7}')
        jobs.append({"key": name, "folder": str(tmp_path / name), "sizes": {}})
    found = there.look(jobs, 1 << 20, 100)
    assert [found[name]["behind"] for name in ("a", "b")] == [False, True]
    assert all(found[name]["whole"] == {"heartbeat.json": '{"n": 7}'} for name in ("a", "b"))
