"""Text of two bytes a character (UTF-16), as a redirection on Windows writes it, read as the UTF-8 that all else is."""

from __future__ import annotations

import codecs
import tempfile
from contextlib import ExitStack

from runs.importing.files import MB, File, window

SIGNS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FOUR_BYTES = codecs.BOM_UTF32_LE
IN_MEMORY = 8 * MB
PIECE = 256 * 1024


def narrowed(file: File, keep: ExitStack) -> File:
    """The same file as UTF-8, which can be read until `keep` is closed; unchanged where it says not that it is UTF-16.
    Raises OSError."""
    head = file.head(4)
    if not head.startswith(SIGNS) or head == FOUR_BYTES:
        return file
    kept = keep.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115
    decoder, size = codecs.getincrementaldecoder("utf-16")(errors="replace"), 0
    with file.open() as wide:
        while piece := wide.read(PIECE):
            size += kept.write(decoder.decode(piece).encode(errors="replace"))
        size += kept.write(decoder.decode(b"", final=True).encode())
    return File(file.name, file.named, size, window(kept, 0, size), file.modified_at)
