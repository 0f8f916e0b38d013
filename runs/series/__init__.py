"""Store points (a packed batch a flush, chunks later) and read them (curves, exact at pixel width)."""

from runs.series.chunks import Column
from runs.series.downsample import Span, m4
from runs.series.packing import AXES, Block, block, pack, unpack
from runs.series.provenance import (
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
from runs.series.reading import X_AXES, Curve, backlog, compacted, cursor, keys, latest, newest, newest_of, read, since
from runs.series.wire import Points, sayable, wire

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
