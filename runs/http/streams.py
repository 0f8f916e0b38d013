"""Responses of any size: their parts are made in the request's thread, each once the client has taken the last one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse


class ThreadedStream(StreamingHttpResponse):
    """A response whose parts a generator makes. It is closed with the response, also if the client goes away."""

    def __init__(self, parts: Generator[bytes, None, None], content_type: str) -> None:
        # An error before the first part is answered as usual.
        first = next(parts, b"")
        self._first, self._parts = first, parts
        super().__init__(self.parts(), content_type=content_type)

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the parts, once."""
        yield self._first
        take = sync_to_async(lambda: next(self._parts, None), thread_sensitive=True)
        while (part := await take()) is not None:
            yield part

    def close(self) -> None:
        """Release what the generator holds. The server calls it in the request's thread."""
        self._parts.close()
        super().close()
