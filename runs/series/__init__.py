"""How points are kept (a packed batch a flush, chunks later) and read (curves, exact at pixel width)."""

from runs.series.chunks import Column
from runs.series.downsample import Span, m4
from runs.series.packing import AXES, Block, block, pack, unpack
from runs.series.provenance import Provenance, origins_of, provenance
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
    "Span",
    "backlog",
    "block",
    "compacted",
    "cursor",
    "keys",
    "latest",
    "m4",
    "newest",
    "newest_of",
    "origins_of",
    "pack",
    "provenance",
    "read",
    "sayable",
    "since",
    "unpack",
    "wire",
]
