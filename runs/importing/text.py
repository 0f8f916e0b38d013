"""A text file line by line, in bounded memory, as a terminal would have shown it: progress bars, colours and all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from runs.importing.records import ImportReport

PIECE = 1 << 20
"""Bytes held of a line. What is longer is progress drawn over and over, or no text."""
BOM = b"\xef\xbb\xbf"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")


@dataclass(frozen=True)
class Line:
    """A stretch of text between line ends or carriage returns. `number` counts lines, as an editor does, from 1.
    `is_whole` is false for the very last one where the file stops without a line end."""

    number: int
    text: str
    is_whole: bool = True


def lines(file: BinaryIO, told: ImportReport) -> Iterator[Line]:
    """Every line of a file; one that was drawn over with carriage returns comes as several of the same number."""
    number, rest, is_first = 1, b"", True
    while piece := file.readline(PIECE):
        if is_first:
            piece, is_first = piece.removeprefix(BOM), False
        ends = piece.endswith(b"\n")
        piece = rest + (piece.rstrip(b"\r\n") if ends else piece)
        *over, rest = piece.split(b"\r")
        if not ends and len(rest) > PIECE:
            told.at_line(number, f"longer than {PIECE} bytes, passed over")
            rest = b""
        for drawn in over:
            if drawn:
                yield Line(number, _decoded(drawn))
        if ends:
            yield Line(number, _decoded(rest))
            number, rest = number + 1, b""
    if rest:
        yield Line(number, _decoded(rest), is_whole=False)


def _decoded(raw: bytes) -> str:
    # A crash leaves blocks of zeros, a log that was rotated begins with them: a terminal shows neither.
    return ESCAPES.sub("", raw.replace(b"\x00", b"").decode("utf-8", errors="replace"))
