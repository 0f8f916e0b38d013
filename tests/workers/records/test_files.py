"""Files of records: nothing is lost but the line in flight, nothing is read before it is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from workers.records import Metric, RecordWriter, Status, next_epoch, read, records_path

ENDLESS = """
import sys
from pathlib import Path
from workers.records import Metric, RecordWriter
with RecordWriter(Path(sys.argv[1]), 0) as writer:
    step = 0
    while True:
        writer.write(Metric(step, {"x": float(step)}))
        step += 1
"""


def write(directory: Path, count: int) -> Path:
    with RecordWriter(directory, 0) as writer:
        for step in range(count):
            writer.write(Metric(step, {"x": float(step)}))
    return records_path(directory, 0)


def test_reading_piece_by_piece_gives_each_line_once(tmp_path: Path) -> None:
    path = write(tmp_path, 200)
    seen: list[int] = []
    offset = 0
    while (piece := read(path, offset, limit=333)).lines:
        seen += [line.seq for line in piece.lines]
        offset = piece.next_offset
    assert seen == list(range(200))
    assert offset == path.stat().st_size


def test_incomplete_line_is_read_when_complete(tmp_path: Path) -> None:
    path = write(tmp_path, 2)
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    piece = read(path)
    assert [line.seq for line in piece.lines] == [0]
    path.write_bytes(whole)
    assert [line.seq for line in read(path, piece.next_offset).lines] == [1]


def test_broken_line_is_reported_with_offset(tmp_path: Path) -> None:
    path = write(tmp_path, 1)
    end = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"garbage\n" + path.read_bytes().replace(b'"seq":0', b'"seq":1'))
    piece = read(path)
    assert [line.seq for line in piece.lines] == [0, 1]
    assert [b.offset for b in piece.broken] == [end]


def test_a_line_longer_than_the_limit_is_read_whole(tmp_path: Path) -> None:
    with RecordWriter(tmp_path, 0) as writer:
        writer.write(Status("training", "x" * 5000))
    assert len(read(records_path(tmp_path, 0), limit=100).lines) == 1


def test_missing_file_reads_as_empty(tmp_path: Path) -> None:
    piece = read(tmp_path / "records.0.jsonl", 7)
    assert (piece.lines, piece.next_offset) == ([], 7)


def test_shortened_file_is_read_from_start(tmp_path: Path) -> None:
    path = write(tmp_path, 3)
    assert [line.seq for line in read(path, 10**6).lines] == [0, 1, 2]


def test_each_epoch_has_its_own_file(tmp_path: Path) -> None:
    write(tmp_path, 1)
    assert next_epoch(tmp_path) == 1
    with pytest.raises(FileExistsError):
        RecordWriter(tmp_path, 0)


def test_kill_9_loses_at_most_the_line_in_flight(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)])
    path = records_path(tmp_path, 0)
    wait_until(lambda: path.exists() and path.stat().st_size >= 50_000, "the writer to write 50 000 bytes")
    writer.kill()
    writer.wait()
    piece = read(path, limit=10**9)
    assert piece.broken == []
    assert [line.seq for line in piece.lines] == list(range(len(piece.lines)))
    assert path.stat().st_size - piece.next_offset < 200
