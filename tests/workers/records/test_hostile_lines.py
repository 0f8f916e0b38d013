"""A hostile line never stops the reader: it is reported as broken, and the next line is read."""

import pytest

from tests.cases import each_case
from workers.records import BadLine, Status, pack, read, unpack

HUGE = b'{"seq":0,"t":0,"kind":"metric","step":0,"values":{"a":1' + b"0" * 400 + b"}}"


KIND = b'{"seq":0,"t":0,"kind":%s}'


@each_case(
    "line",
    [
        HUGE, b"[" * 200_000, b"\xff\xfe", b"null", b"{}", b'{"seq":0,"t":1' + b"0" * 5000 + b"}",
        KIND % b"[]", KIND % b"{}", KIND % b"null", KIND % b"[[]]",
    ],
)  # fmt: skip
def test_a_hostile_line_is_a_bad_line(line):
    with pytest.raises(BadLine):
        unpack(line)


def test_line_longer_than_limit_is_skipped(tmp_path):
    path = tmp_path / "records.0.jsonl"
    path.write_bytes(b"x" * (10 * 1024 * 1024) + b"\n" + pack(1, 0.0, Status("training")))
    lines, broken, offset = [], [], 0
    while (piece := read(path, offset)).next_offset > offset:
        lines, broken, offset = lines + piece.lines, broken + piece.broken, piece.next_offset
    assert [line.seq for line in lines] == [1]
    assert broken[0].offset == 0
    assert "more than 8388608 bytes" in broken[0].reason
    assert offset == path.stat().st_size
