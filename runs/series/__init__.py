"""How points are kept (one packed batch a flush) and read (curves, exact at pixel width)."""

from runs.series.downsample import m4
from runs.series.packing import AXES, Block, block, pack, unpack
from runs.series.reading import X_AXES, Curve, cursor, keys, latest, read, since

__all__ = [
    "AXES",
    "X_AXES",
    "Block",
    "Curve",
    "block",
    "cursor",
    "keys",
    "latest",
    "m4",
    "pack",
    "read",
    "since",
    "unpack",
]
