"""Read a text file line by line, in bounded memory, as a terminal displays it, with progress bars and colours."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from runs.importing.records import ImportReport

PIECE = 1 << 20
"""Maximum bytes of a line. A longer line is a progress bar that was redrawn many times, or no text."""
MAX_BLANK_LINES = 500
"""More than any reader counts: a response ends after fewer, and a dictionary too."""
BLANK = (b"\n", b"\r\n")
BOM = b"\xef\xbb\xbf"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")


@dataclass(frozen=True)
class Line:
    """A stretch of text between line ends or carriage returns. `number` counts lines, as an editor does, from 1.
    `is_whole` is false for the very last one if the file ends without a line end."""

    number: int
    text: str
    is_whole: bool = True


def lines(file: BinaryIO, report: ImportReport) -> Iterator[Line]:
    """Yield every line of a file; a line that carriage returns overwrite comes as several of the same number.

    Of more than MAX_BLANK_LINES empty lines in a row, only the first ones are yielded.
    """
    number, rest, is_first, blank = 1, b"", True, 0
    buffered = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, file))
    while piece := buffered.readline(PIECE):
        if piece in BLANK and not rest:
            blank += 1
            if blank > MAX_BLANK_LINES:
                number += 1 + _skip_blank_lines(buffered)
                continue
        else:
            blank = 0
        if is_first:
            piece, is_first = piece.removeprefix(BOM), False
        ends = piece.endswith(b"\n")
        piece = rest + (piece.rstrip(b"\r\n") if ends else piece)
        *overwritten, rest = piece.split(b"\r")
        if not ends and len(rest) > PIECE:
            report.add_line_remark(number, f"longer than {PIECE} bytes: skipped")
            rest = b""
        for segment in overwritten:
            if segment:
                yield Line(number, _decode(segment))
        if ends:
            yield Line(number, _decode(rest))
            number, rest = number + 1, b""
    if rest:
        yield Line(number, _decode(rest), is_whole=False)


def _skip_blank_lines(file: io.BufferedReader) -> int:
    """Read the empty lines that are in the buffer, and return their number."""
    ahead = file.peek()
    count = len(ahead) - len(ahead.lstrip(b"\r\n"))
    skipped = ahead[: ahead.rfind(b"\n", 0, count) + 1]
    file.read(len(skipped))
    return skipped.count(b"\n")


def _decode(raw: bytes) -> str:
    # A crash leaves blocks of zeros, and a rotated log begins with them. A terminal displays neither.
    text = raw.replace(b"\x00", b"").decode("utf-8", errors="replace")
    return ESCAPES.sub("", text) if "\x1b" in text else text
