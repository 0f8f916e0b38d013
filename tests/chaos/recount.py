"""Count the records of a file and those of the database, without any code that copies them from one to the other.

Files are read by `json`; packed series with `struct` and `zlib` alone, by the layouts that `packing.py` and
`chunks.py` of `runs/metrics` promise.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import psycopg

Row = tuple[Any, ...]
"""A record: its kind first, numbers as their text, since NaN does not equal itself."""
Values = tuple[tuple[str, str], ...]
HEADER = struct.Struct("<BIII")
UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that PostgreSQL refuses in a text: NUL and halves of surrogate pairs. They are stored as U+FFFD."""
MAX_SHOWN_CHARACTERS = 300
"""Maximal number of characters of a record in a message."""
NON_FINITE = {"NaN", "Infinity", "-Infinity"}
EPOCH_CONDITION = "WHERE attempt_id = %(attempt)s AND epoch = %(epoch)s"
SERIES = f"""
SELECT NULL AS key, keys, data FROM runs_batch {EPOCH_CONDITION}
UNION ALL SELECT key, NULL, data FROM runs_chunk {EPOCH_CONDITION}
"""  # noqa: S608  (both are ours)
ROWS = {
    "response": "SELECT r.seq, r.step, r.split, p.name, r.sample, r.text, r.tokens, r.reward, r.parts::text, r.kl"
    " FROM runs_response r JOIN runs_prompt p ON p.id = r.prompt_id",
    "population": "SELECT seq, step, members::text FROM runs_population",
    "engines": "SELECT seq, step, bytes, engines::text FROM runs_enginereport",
    "checkpoint": "SELECT seq, step, path, bytes, sha256 FROM runs_checkpoint",
}
FIELDS = {
    "response": ("split", "prompt_id", "sample", "text", "tokens", "reward", "parts", "kl"),
    "population": ("members",),
    "engines": ("bytes", "engines"),
    "checkpoint": ("path", "bytes", "sha256"),
}
JSON = {"parts", "members", "engines"}


def differences(
    connection: psycopg.Connection[Any], attempt: int, epoch: int, path: Path, end: int | None = None
) -> list[str]:
    """Return a sentence for each kind of record of which file and database do not hold the same records, each once.

    `end` is the byte up to which the file is compared, by default all of it.
    """
    written, stored = read_file(path, end), read_database(connection, attempt, epoch)
    missing, surplus = written - stored, stored - written
    return [
        f"{path.name}: of {_count_of_kind(written, kind)} {kind} records {_count_of_kind(missing, kind)} are missing,"
        f" {_count_of_kind(surplus, kind)} too many{_example(missing, surplus, kind)}"
        for kind in sorted({row[0] for row in (*missing, *surplus)})
    ]


def whole_lines(path: Path, end: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a file up to byte `end`, without a line that was cut off; none if there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes()[:end].split(b"\n")[:-1]]


def read_file(path: Path, end: int | None = None) -> Counter[Row]:
    """Return the records of the whole lines of a file up to byte `end`, with their counts."""
    records = whole_lines(path, end)
    rows = [_metric(r["t"], r["step"], _values(r)) for r in records if r["kind"] == "metric"]
    rows += [
        (r["kind"], r["seq"], r["step"], *(_plain(r.get(field)) for field in FIELDS[r["kind"]]))
        for r in records
        if r["kind"] in FIELDS
    ]
    return Counter(rows)


def read_database(connection: psycopg.Connection[Any], attempt: int, epoch: int) -> Counter[Row]:
    """Return the records of one epoch, with their counts. Batches and chunks are read by one query."""
    params = {"attempt": attempt, "epoch": epoch}
    rows: list[Row] = []
    with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        series = cursor.execute(SERIES, params).fetchall()
        for kind, query in ROWS.items():
            for seq, step, *cells in cursor.execute(f"{query} {EPOCH_CONDITION}", params):
                fields = zip(FIELDS[kind], cells, strict=True)
                rows.append((kind, seq, step, *(_plain(json.loads(c) if f in JSON else c) for f, c in fields)))
    for key, keys, data in series:
        if key is None:
            rows += _metrics_of_batch(keys, data)
    rows += _metrics_of_chunks([(key, data) for key, _, data in series if key is not None])
    return Counter(rows)


def _metrics_of_batch(keys: Sequence[str], data: bytes) -> Iterator[Row]:
    _, records, count, cells = HEADER.unpack_from(data)
    body = zlib.decompress(data[HEADER.size :])
    sizes = (8 * records, 8 * records, 4 * count, 4 * cells, 8 * cells)
    steps, times, cuts, rows, values = (body[a:b] for a, b in pairwise(accumulate(sizes, initial=0)))
    metrics: dict[int, list[tuple[str, str]]] = defaultdict(list)
    cells_of_keys = struct.unpack(f"<{count}I", cuts)
    names = [key for key, size in zip(keys, cells_of_keys, strict=True) for _ in range(size)]
    numbers = struct.unpack(f"<{cells}d", _unshuffled(values, 8))
    for name, row, value in zip(names, _sums(rows, "I"), numbers, strict=True):
        metrics[row].append((name, repr(value)))
    for row, (step, t) in enumerate(zip(_sums(steps, "q"), _doubles(_sums(times, "q")), strict=True)):
        yield _metric(t, step, metrics[row])


def _metrics_of_chunks(chunks: Sequence[tuple[str, bytes]]) -> Iterator[Row]:
    """Yield the metrics in the chunks of an epoch.

    The times of its records are stored under an empty key; records are counted over all chunks.
    """
    times: dict[int, tuple[float, int]] = {}
    metrics: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for key, data in chunks:
        _, points, record_bytes, step_bytes = HEADER.unpack_from(data)
        ends = accumulate((HEADER.size, record_bytes, step_bytes, len(data)))
        records, steps, values = (data[a:b] for a, b in pairwise(ends))
        for record, step, value in zip(_ints(records, points), _ints(steps, points), _floats(values), strict=True):
            if key:
                metrics[record].append((key, repr(value)))
            else:
                times[record] = value, step
    for record, (t, step) in times.items():
        yield _metric(t, step, metrics.pop(record, []))
    yield from (("metric without a time", *values) for values in metrics.values())


def _metric(t: float, step: int, values: Iterable[tuple[str, str]]) -> Row:
    return "metric", repr(float(t)), step, tuple(sorted(values))


def _values(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for prefix, values in (("", record.get("values", {})), ("axes/", record.get("axes", {}))):
        yield from ((prefix + name, repr(float(value))) for name, value in values.items())


def _plain(value: Any) -> Any:
    """Return a field so that equal values compare equal: whole numbers as floats, missing fields as empty ones."""
    if isinstance(value, dict):
        return tuple(sorted((name, _plain(item)) for name, item in value.items() if item not in (None, {})))
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    if isinstance(value, str) and value not in NON_FINITE:
        return UNSTORABLE.sub("\ufffd", value)
    is_number = isinstance(value, int | float) or value in NON_FINITE
    return repr(float(value)) if is_number else value or ""


def _count_of_kind(rows: Counter[Row], kind: str) -> int:
    return sum(count for row, count in rows.items() if row[0] == kind)


def _example(missing: Counter[Row], surplus: Counter[Row], kind: str) -> str:
    rows = [
        repr(row)[:MAX_SHOWN_CHARACTERS]
        for rows_by_difference in (missing, surplus)
        for row in [*rows_by_difference][:50]
        if row[0] == kind
    ]
    return f": {' | '.join(rows[:2])}"


def _ints(data: bytes, points: int) -> list[int]:
    if data[0] == 0:
        first, step = struct.unpack_from("<qq", data, 1)
        return [first + step * number for number in range(points)]
    return _sums(zlib.decompress(data[1:]), "q")


def _floats(data: bytes) -> Sequence[float]:
    if data[0] == 4:
        return _doubles(_sums(zlib.decompress(data[1:]), "q"))
    kind, width = {2: ("f", 4), 3: ("d", 8)}[data[0]]
    return struct.unpack(f"<{(len(data) - 1) // width}{kind}", data[1:])


def _doubles(patterns: Sequence[int]) -> tuple[float, ...]:
    return struct.unpack(f"<{len(patterns)}d", struct.pack(f"<{len(patterns)}q", *patterns))


def _sums(data: bytes, kind: str) -> list[int]:
    """Undo the differences of shuffled integers, which wrap around at their width."""
    width = struct.calcsize(f"<{kind}")
    numbers = struct.unpack(f"<{len(data) // width}{kind}", _unshuffled(data, width))
    wrap = 1 << 8 * width
    half = wrap // 2 if kind.islower() else 0
    return [(total + half) % wrap - half for total in accumulate(numbers)]


def _unshuffled(data: bytes, width: int) -> bytes:
    """Undo the order in which all first bytes come first, then all second bytes, and so on."""
    count, plain = len(data) // width, bytearray(len(data))
    for offset in range(width):
        plain[offset::width] = data[offset * count : (offset + 1) * count]
    return bytes(plain)
