"""Pieces of records as the server takes them: columns if all are metrics, which costs a fraction, else lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from esweb_client.reader import Entry

MAX_KEYS = 9_000
MAX_CELLS = 200_000
MIN_COLUMNS = 100
METRIC_FIELDS = {"t", "kind", "step", "values", "axes"}
COLUMNS, LINES = "application/json", "application/jsonl"


@dataclass(frozen=True)
class Piece:
    """The body of one push, and the records in it."""

    content_type: str
    body: bytes
    entries: Sequence[Entry]


def build_piece(entries: Sequence[Entry], replaced: Mapping[int, Mapping[str, Any]], *, columns: bool = True) -> Piece:
    """Return the first of these records as one push. `replaced` are records that are sent in the place of others."""
    if columns and not any(entry.seq in replaced for entry in entries):
        run = _leading_metrics(entries)
        # Records of other kinds among them: one push of lines is cheaper than many small ones of columns.
        if run and len(run) >= min(len(entries), MIN_COLUMNS) and (body := _columns(run)) is not None:
            return Piece(COLUMNS, body, run)
    rest = entries[: _count_lines(entries)]
    lines = (json.dumps({"seq": e.seq, **replaced.get(e.seq, e.body)}, ensure_ascii=False) for e in rest)
    return Piece(LINES, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"), rest)


def _leading_metrics(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the metrics before the first record of another kind, as many as one push of columns takes."""
    keys: set[str] = set()
    for count, entry in enumerate(entries):
        body = entry.body
        if body["kind"] != "metric" or not body.keys() <= METRIC_FIELDS:
            return entries[:count]
        keys.update(body["values"], (f"axes {key}" for key in body.get("axes", ())))
        if len(keys) > MAX_KEYS or (count + 1) * (len(keys) + 2) > MAX_CELLS:
            return entries[:count]
    return entries


def _count_lines(entries: Sequence[Entry]) -> int:
    """Return how many lines one push takes, at least one."""
    keys: set[str] = set()
    for count, entry in enumerate(entries):
        if entry.body["kind"] == "metric":
            keys.update(entry.body.get("values", ()), (f"axes {key}" for key in entry.body.get("axes", ())))
        if len(keys) > MAX_KEYS:
            return max(1, count)
    return len(entries)


def _columns(entries: Sequence[Entry]) -> bytes | None:
    """Return the columns of metrics; None if most of their cells would be empty."""
    bodies = [entry.body for entry in entries]
    values = {key: None for body in bodies for key in body["values"]}
    axes = {key: None for body in bodies for key in body.get("axes", ())}
    cells = sum(len(body["values"]) + len(body.get("axes", ())) for body in bodies)
    if len(bodies) * (len(values) + len(axes)) > 4 * cells:
        return None
    columns = {
        "seq": entries[0].seq,
        "t": [body["t"] for body in bodies],
        "step": [body["step"] for body in bodies],
        "values": {key: [body["values"].get(key) for body in bodies] for key in values},
        "axes": {key: [body.get("axes", {}).get(key) for body in bodies] for key in axes},
    }
    return json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
