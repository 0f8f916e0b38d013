"""How pages' files are named and sent."""

from __future__ import annotations

from typing import IO

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage as Base


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, whole: an ASGI server cannot stream a file without warning, and the largest here is a few 100 kB."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        response = HttpResponse(_content(found.file), status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response


class NamedByContent(Base):  # type: ignore[misc]
    """Every file's name carries a digest, also where one script imports another: old and new never mix."""

    # Only our own scripts: in others' files the pattern also finds imports that stand in comments.
    patterns = (*Base.patterns, ("js/*.js", Base._js_module_import_aggregation_patterns[1]))


def _content(file: IO[bytes] | None) -> bytes:
    if file is None:
        return b""
    with file:
        return file.read()
