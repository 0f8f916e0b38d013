"""How points are kept (one packed batch a flush) and read (curves, exact at pixel width)."""

from runs.series.downsample import m4
from runs.series.packing import AXES, Block, block, pack, unpack
from runs.series.reading import X_AXES, Curve, backlog, cursor, keys, latest, newest, read, since
from runs.series.wire import Points, sayable, wire

__all__ = [
    "AXES",
    "X_AXES",
    "Block",
    "Curve",
    "Points",
    "backlog",
    "block",
    "cursor",
    "keys",
    "latest",
    "m4",
    "newest",
    "pack",
    "read",
    "sayable",
    "since",
    "unpack",
    "wire",
]
