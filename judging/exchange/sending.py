"""Files that are made while they are sent, a piece at a time, so that a long one takes no more memory than a short."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

from judging.exchange.written import FORMS, Asked, lines, name_of
from judging.models import Tournament

PIECE = 1 << 16


def sent(tournament: Tournament, asked: Asked) -> StreamingHttpResponse:
    """A tournament's verdicts as a file. `check` comes before."""
    ending, media_type = FORMS[asked.form]
    return send(lines(tournament, asked), name_of(tournament, asked.form, ending), media_type)


def send(said: Iterator[str], name: str, media_type: str) -> StreamingHttpResponse:
    """The lines as a file to be saved under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(_sent(_pieces(said)), content_type=media_type, headers=headers)


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each piece is made in the thread that talks to the database."""
    following = sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


def _pieces(said: Iterator[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for line in said:
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield "".join(held).encode()
            held, size = [], 0
    if held:
        yield "".join(held).encode()
