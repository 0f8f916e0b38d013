"""Compressed responses have the right headers and content, and their size does not reveal repeated content."""

from __future__ import annotations

import gzip
import json

import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from esweb.middleware.compression import LARGE, LEVEL, Compression

CONTENT = json.dumps([n / 7 for n in range(20_000)]).encode()


def answer(response: HttpResponseBase, takes: str = "gzip, deflate, br") -> HttpResponseBase:
    request = HttpRequest()
    request.META["HTTP_ACCEPT_ENCODING"] = takes
    return Compression(lambda _: response).process_response(request, response)


def content(response: HttpResponseBase) -> bytes:
    assert isinstance(response, HttpResponse)
    return response.content


@pytest.mark.parametrize("size", [LARGE - 1, LARGE, len(CONTENT)])
def test_client_that_accepts_gzip_gets_it(size: int) -> None:
    compressed = answer(HttpResponse(CONTENT[:size]))
    assert (compressed["Content-Encoding"], compressed["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(compressed["Content-Length"]) == len(content(compressed)) < size / 2
    assert gzip.decompress(content(compressed)) == CONTENT[:size]


def test_others_get_it_as_it_is() -> None:
    compressed = answer(HttpResponse(CONTENT), takes="br")
    assert content(compressed) == CONTENT
    assert compressed["Vary"] == "Accept-Encoding"


def test_compressed_content_is_not_compressed_again() -> None:
    packed = gzip.compress(CONTENT)
    assert content(answer(HttpResponse(packed, headers={"Content-Encoding": "gzip"}))) == packed


@pytest.mark.parametrize("tag", ['"abc"', 'W/"abc"'])
def test_a_tag_becomes_weak(tag: str) -> None:
    compressed = answer(HttpResponse(CONTENT, headers={"ETag": tag}))
    assert (compressed["ETag"], gzip.decompress(content(compressed))) == ('W/"abc"', CONTENT)


def test_a_stream_is_packed_as_it_comes() -> None:
    compressed = answer(StreamingHttpResponse(iter([CONTENT])))
    assert isinstance(compressed, StreamingHttpResponse)
    assert gzip.decompress(compressed.getvalue()) == CONTENT


def test_the_size_is_not_always_the_same() -> None:
    sizes = {len(content(answer(HttpResponse(CONTENT)))) for _ in range(20)}
    assert len(sizes) > 1
    assert max(sizes) - len(gzip.compress(CONTENT, LEVEL)) <= Compression.max_random_bytes + 1
