"""Text of two bytes a character (UTF-16), as a redirection on Windows writes it, read as the UTF-8 that all else is."""

from __future__ import annotations

import codecs

from runs.importing.budget import PIECE
from runs.importing.files import File
from runs.importing.unpacking import Unpacking

SIGNS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FOUR_BYTES = codecs.BOM_UTF32_LE


def narrowed(file: File, unpacking: Unpacking) -> File:
    """Return the same file as UTF-8; unchanged if it does not say that it is UTF-16. Raise OSError."""
    head = file.head(4)
    if not head.startswith(SIGNS) or head == FOUR_BYTES:
        return file
    decoder, start = codecs.getincrementaldecoder("utf-16")(errors="replace"), unpacking.used
    with file.open() as wide:
        while piece := wide.read(PIECE):
            _add(decoder.decode(piece).encode(errors="replace"), unpacking)
        _add(decoder.decode(b"", final=True).encode(), unpacking)
    return unpacking.file(file.name, file.named, start, file.modified_at)


def _add(piece: bytes, unpacking: Unpacking) -> None:
    unpacking.budget.add_inflated(len(piece))
    unpacking.write(piece)
