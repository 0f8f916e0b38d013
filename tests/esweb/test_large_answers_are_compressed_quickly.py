"""What is compressed says so, is what was answered, and does not tell by its size what an answer repeats."""

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
def test_whoever_takes_gzip_gets_it(size: int) -> None:
    found = answer(HttpResponse(CONTENT[:size]))
    assert (found["Content-Encoding"], found["Vary"]) == ("gzip", "Accept-Encoding")
    assert int(found["Content-Length"]) == len(content(found)) < size / 2
    assert gzip.decompress(content(found)) == CONTENT[:size]


def test_others_get_it_as_it_is() -> None:
    found = answer(HttpResponse(CONTENT), takes="br")
    assert content(found) == CONTENT
    assert found["Vary"] == "Accept-Encoding"


def test_what_is_packed_already_is_left_alone() -> None:
    packed = gzip.compress(CONTENT)
    assert content(answer(HttpResponse(packed, headers={"Content-Encoding": "gzip"}))) == packed


@pytest.mark.parametrize("tag", ['"abc"', 'W/"abc"'])
def test_a_tag_becomes_weak(tag: str) -> None:
    found = answer(HttpResponse(CONTENT, headers={"ETag": tag}))
    assert (found["ETag"], gzip.decompress(content(found))) == ('W/"abc"', CONTENT)


def test_a_stream_is_packed_as_it_comes() -> None:
    found = answer(StreamingHttpResponse(iter([CONTENT])))
    assert isinstance(found, StreamingHttpResponse)
    assert gzip.decompress(found.getvalue()) == CONTENT


def test_the_size_is_not_always_the_same() -> None:
    sizes = {len(content(answer(HttpResponse(CONTENT)))) for _ in range(20)}
    assert len(sizes) > 1
    assert max(sizes) - len(gzip.compress(CONTENT, LEVEL)) <= Compression.max_random_bytes + 1
