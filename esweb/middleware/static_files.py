"""Names and responses of the static files of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage as Base

from esweb.middleware.static_bundles import bundle, is_entry

Paths = dict[str, tuple[Storage, str]]
"""The storage and the path in it of each static file, by name."""
Processed = tuple[str, str | None, bool | Exception]
"""The name of a file, its name with the digest, and whether it was written."""


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, with whole files: an ASGI server cannot stream a file without warning, and the largest is a few 100
    kB."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        file_response = static_file.get_response(request.method, request.META)
        response = HttpResponse(_content(file_response.file), status=int(file_response.status))
        del response["Content-Type"]
        for name, value in file_response.headers:
            response[name] = value
        return response


class BundledStorage(Base):  # type: ignore[misc]
    """Store bundles instead of their entry files, and name each file by a digest of its content."""

    # Scripts outside bundles may import each other. Third-party scripts are left out: imports occur in their comments.
    patterns = (*Base.patterns, ("js/*.js", Base._js_module_import_aggregation_patterns[1]))

    def post_process(self, paths: Paths, dry_run: bool = False, **options: Any) -> Iterator[Processed]:
        def read(name: str) -> str:
            storage, path = paths[name]
            with storage.open(path) as file:
                return str(file.read().decode())

        bundles = {name: (Text(bundle(name, read)), name) for name in paths if is_entry(name)}
        yield from super().post_process({**paths, **bundles}, dry_run=dry_run, **options)


class Text(Storage):
    """A storage with one file, of this text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def open(self, name: str, mode: str = "rb") -> ContentFile[bytes]:
        return ContentFile(self.text.encode(), name)


def _content(file: IO[bytes] | None) -> bytes:
    if file is None:
        return b""
    with file:
        return file.read()
