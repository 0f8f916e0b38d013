"""The copy of a remote job's directory: every byte once after any interruption, and the exit record last."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from workers.attempt import read_json
from workers.executors import mirror
from workers.executors.openssh import remote_agent

LINE = b'{"seq": 0}\n'
RECORDS = "records.0.jsonl"


def look_at(remote: Path, here: Path, file_bytes: int = 1 << 20, total: int = 1 << 24) -> dict[str, Any] | None:
    """Return the result of one look at the remote directory."""
    job = {"key": "k", "folder": str(remote), "sizes": mirror.sizes(here)}
    results: dict[str, Any] = remote_agent.look([job], file_bytes, total)
    return results.get("k")


def mirror_once(remote: Path, here: Path, **limits: int) -> bool:
    """Save the result of one look; return whether more bytes remain."""
    return mirror.save_look(here, look_at(remote, here, **limits))


def folders(tmp_path: Path) -> tuple[Path, Path]:
    remote, here = tmp_path / "far", tmp_path / "here"
    for folder in (remote, here):
        folder.mkdir()
    mirror.begin(here)
    return remote, here


def test_exit_record_is_copied_after_all_pieces(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / RECORDS).write_bytes(LINE * 100)
    (remote / "exit.json").write_text('{"code": 0}')
    behind = [mirror_once(remote, here, file_bytes=500) for _ in range(3)]
    assert behind == [True, True, False]
    assert (here / RECORDS).read_bytes() == LINE * 100 and read_json(here / "exit.json") == {"code": 0}


def test_exit_record_is_not_copied_before_records(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / RECORDS).write_bytes(LINE * 100)
    (remote / "exit.json").write_text('{"code": 0}')
    mirror_once(remote, here, file_bytes=500)
    assert not (here / "exit.json").exists()
    state = mirror.read_state(here)
    assert state is not None and state.is_behind and state.seen_at is not None


def test_repeated_result_is_saved_once(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / RECORDS).write_bytes(LINE * 3)
    result = look_at(remote, here)
    mirror.save_look(here, result)
    mirror.save_look(here, result)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_interrupted_copy_is_continued(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / RECORDS).write_bytes(LINE * 3)
    (here / RECORDS).write_bytes(LINE + LINE[:4])
    mirror_once(remote, here)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_stale_shorter_file_changes_nothing(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / RECORDS).write_bytes(LINE)
    (here / RECORDS).write_bytes(LINE * 3)
    assert not mirror_once(remote, here)
    assert (here / RECORDS).read_bytes() == LINE * 3


def test_piece_beyond_end_is_not_saved(tmp_path: Path) -> None:
    _, here = folders(tmp_path)
    piece = {"offset": 10, "data": base64.b64encode(LINE).decode()}
    mirror.save_look(here, {"whole": {}, "pieces": {RECORDS: piece}, "behind": False})
    assert (here / RECORDS).read_bytes() == b""


def test_unknown_file_names_are_never_written(tmp_path: Path) -> None:
    _, here = folders(tmp_path)
    piece = {"offset": 0, "data": base64.b64encode(b"x").decode()}
    names = ("../outside", "records.0.jsonl/../../outside", "run.json", "/etc/x")
    mirror.save_look(here, {"whole": {"../claim": "x"}, "pieces": dict.fromkeys(names, piece), "behind": False})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "here", "mirror.json"]


def test_mirror_is_settled_after_looks_without_news(tmp_path: Path) -> None:
    remote, here = folders(tmp_path)
    (remote / "log.txt").write_text("words\n")
    settled = []
    for _ in range(3):
        mirror_once(remote, here)
        state = mirror.read_state(here)
        settled.append(state is not None and state.is_settled)
    assert settled == [False, False, True]


def test_all_jobs_report_when_bytes_are_limited(tmp_path: Path) -> None:
    jobs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.txt").write_bytes(b"x" * 100)
        (tmp_path / name / "heartbeat.json").write_text('{"n": 7}')
        jobs.append({"key": name, "folder": str(tmp_path / name), "sizes": {}})
    results = remote_agent.look(jobs, 1 << 20, 100)
    assert [results[name]["behind"] for name in ("a", "b")] == [False, True]
    assert all(results[name]["whole"] == {"heartbeat.json": '{"n": 7}'} for name in ("a", "b"))
