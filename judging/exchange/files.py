"""Files of judgments, a row at a time: what they hold may be more than memory does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from judging.votes import Problem, is_one_document, listed, parsed

MB = 1 << 20
UPLOAD_AT_MOST = 64 * MB
FILE_AT_MOST = 1024 * MB
LIST_AT_MOST = 64 * MB
"""One JSON list is held as a whole."""
LINE_AT_MOST = 4 * MB
HEAD = 1024
BOM = b"\xef\xbb\xbf"


def rows(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    """(place, parsed row or Problem) of each line, or of each entry of one JSON list. `file` is at its beginning."""
    head = file.read(HEAD).removeprefix(BOM).lstrip()
    file.seek(0)
    yield from _listed(file, name) if is_one_document(head) else _lines(file, name)


def _listed(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    data = file.read(LIST_AT_MOST + 1)
    if len(data) > LIST_AT_MOST:
        why = f"is one JSON list of more than {LIST_AT_MOST // MB} MB: write it as JSON lines"
        yield name, Problem(name, why)
        return
    text = _text(data.removeprefix(BOM), name)
    yield from [(name, text)] if isinstance(text, Problem) else listed(text, name)


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(LINE_AT_MOST):
        number += 1
        place = f"{name}, line {number}"
        if len(line) == LINE_AT_MOST and not line.endswith(b"\n"):
            yield place, Problem(place, f"is longer than {LINE_AT_MOST // MB} MB")
            _pass_by(file)
        elif line.strip() and line.strip() != BOM:
            text = _text(line.removeprefix(BOM) if number == 1 else line, place)
            yield place, text if isinstance(text, Problem) else parsed(text, place)


def _pass_by(file: BinaryIO) -> None:
    """Reads to the end of the line."""
    while (rest := file.readline(LINE_AT_MOST)) and not rest.endswith(b"\n"):
        pass


def _text(data: bytes, place: str) -> str | Problem:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return Problem(place, f"is not UTF-8 text: {error.reason} at byte {error.start + 1}")
