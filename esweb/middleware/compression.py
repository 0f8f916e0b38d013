"""Compress responses for clients that accept gzip, large ones quickly: users wait for charts."""

from __future__ import annotations

import gzip
import secrets
from collections.abc import AsyncIterator
from io import BytesIO

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware, re_accepts_gzip
from django.utils.cache import patch_vary_headers

from runs.http import ThreadedStream

LARGE = 100_000
LEVEL = 4
"""A level of zlib's nine. A megabyte of a chart's numbers takes 16 ms and not 40, and is a fortieth larger."""


class Compression(GZipMiddleware):
    """Django's own middleware, which has one level for all responses."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress a large response here, and leave every other to Django."""
        if response.has_header("Content-Encoding") or not _takes_gzip(request):
            return super().process_response(request, response)
        if isinstance(response, ThreadedStream):
            response.streaming_content = self._compress_stream(response.parts())
            response["Content-Encoding"] = "gzip"
            patch_vary_headers(response, ["Accept-Encoding"])
            return response
        if not isinstance(response, HttpResponse) or len(response.content) < LARGE:
            return super().process_response(request, response)
        response.content = self._compress(response.content)
        response["Content-Encoding"], response["Content-Length"] = "gzip", str(len(response.content))
        patch_vary_headers(response, ["Accept-Encoding"])
        if response.get("ETag", "").startswith('"'):
            # A strong ETag names the plain response byte by byte; the compressed one has the same content only.
            response["ETag"] = f"W/{response['ETag']}"
        return response

    def _compress(self, content: bytes) -> bytes:
        out = BytesIO()
        with self._gzip(out) as packed:
            packed.write(content)
        return out.getvalue()

    async def _compress_stream(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Compress in a thread, where it keeps no other request waiting."""
        out = BytesIO()
        packed = self._gzip(out)
        async for part in parts:
            await sync_to_async(packed.write)(part)
            yield _drain(out)
        packed.close()
        yield _drain(out)

    def _gzip(self, out: BytesIO) -> gzip.GzipFile:
        # A name of random length, as Django gives one: the size then reveals no secrets that a response repeats.
        name = secrets.token_hex(self.max_random_bytes)[: 1 + secrets.randbelow(self.max_random_bytes)]
        return gzip.GzipFile(name, "wb", LEVEL, out, mtime=0)


def _drain(out: BytesIO) -> bytes:
    """Return what was written since the last call."""
    content = out.getvalue()
    out.seek(0)
    out.truncate()
    return content


def _takes_gzip(request: HttpRequest) -> bool:
    return re_accepts_gzip.search(request.META.get("HTTP_ACCEPT_ENCODING", "")) is not None
