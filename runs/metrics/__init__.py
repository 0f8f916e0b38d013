"""Store points (a packed batch a flush, chunks later) and read them (curves, exact at pixel width)."""

from runs.metrics.chunks import Column
from runs.metrics.downsample import Span, m4
from runs.metrics.json_numbers import Points, sayable, wire
from runs.metrics.packing import AXES, Block, block, pack, unpack
from runs.metrics.provenance import (
    Provenance,
    Provenances,
    facts_expression,
    is_held_out,
    origin_expression,
    origins_of,
    provenance,
    provenance_of_facts,
    provenances,
    ways,
    ways_in_words,
    with_origins,
)
from runs.metrics.reading import X_AXES, Curve, backlog, compacted, cursor, keys, latest, newest, newest_of, read, since

__all__ = [
    "AXES",
    "X_AXES",
    "Block",
    "Column",
    "Curve",
    "Points",
    "Provenance",
    "Provenances",
    "Span",
    "backlog",
    "block",
    "compacted",
    "cursor",
    "facts_expression",
    "is_held_out",
    "keys",
    "latest",
    "m4",
    "newest",
    "newest_of",
    "origin_expression",
    "origins_of",
    "pack",
    "provenance",
    "provenance_of_facts",
    "provenances",
    "read",
    "sayable",
    "since",
    "unpack",
    "ways",
    "ways_in_words",
    "wire",
    "with_origins",
]
