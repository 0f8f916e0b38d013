"""Requests of at most 10 kB that may cost much: for every route and operation, each with texts that are expensive to
parse, match or repeat, and small files that are large or slow to read once they are unpacked."""

from __future__ import annotations

import bz2
import gzip
import inspect
import io
import json
import lzma
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.forms.forms import BaseForm

from tests.runs.http.test_api_examples import OPERATIONS
from tests.security.every_object import Names, page_addresses, path_of
from tests.security.test_hostile_text import MARK, Route, readers_of, reading_modules, routes_with_queries

MAX_BYTES = 10_000
TEXTS = {
    "letters": "a" * 7000, "digits": "9" * 5000, "line breaks": "\n" * 2500, "spaces": " " * 7000 + "!",
    "commas": "a," * 3000, "brackets": "[" * 2500, "quotes": "'" * 2500 + "\\", "colons": "a:b " * 1500,
    "expression": r"(((a{255}){255}){255}){255}", "references": r"^(a+)(a+)\1\2a!$", "dots": "a." * 3000,
    "HTML": "<a <b>" * 1000, "markdown": "*_`[a](" * 800, "JSON": '{"a":' * 500, "dashes": "1-" * 2500,
}  # fmt: skip
UNSAFE = {"logout", "language", "set_language"}
BOUNDARY = "costly"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
MULTIPART = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
UPLOADS = {
    "/import/": {"experiment": "a"}, "/api/v1/imports": {"experiment_name": "a"}, "/judging/import/": {"name": "a"},
    "/judging/gold/": {"name": "a"},
}  # fmt: skip
"""Addresses that take files, and what else they need."""
BREAKS = b"\n" * 5_000_000


@dataclass(frozen=True)
class CostlyRequest:
    """A request: its route or operation, and what makes it costly, for the report."""

    route: str
    cause: str
    method: str
    target: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the bytes of the request line and the body."""
        return len(self.target) + len(self.body)


def all_requests(names: Names, uids: Sequence[str], keys: Sequence[str]) -> Iterator[CostlyRequest]:
    """Yield all requests of at most MAX_BYTES. `names` give the objects; `uids` and `keys` exist on the site."""
    for request in (*_reads(names, uids, keys), *_forms(names), *_calls(names), *_uploads()):
        if request.size <= MAX_BYTES:
            yield request


def _reads(names: Names, uids: Sequence[str], keys: Sequence[str]) -> Iterator[CostlyRequest]:
    """Yield reads of every route, and each text in each name of a query, once for each module that reads the name."""
    many = urlencode([*(("run", uid) for uid in uids[:50]), *(("key", key) for key in keys[:40])])
    seen = set[tuple[str, str]]()
    for route, address in _addressed(names):
        yield CostlyRequest(route.name, "no query", "GET", address)
        yield CostlyRequest(route.name, "50 runs, 40 keys", "GET", f"{address}?{many}")
        for name in sorted(route.query):
            readers = readers_of(name, route.module) if route.module else [route.name]
            if new := {(name, reader) for reader in readers} - seen:
                seen |= new
                for cause, text in TEXTS.items():
                    yield CostlyRequest(route.name, f"{cause} in {name}", "GET", f"{address}?{urlencode({name: text})}")


def _addressed(names: Names) -> Iterator[tuple[Route, str]]:
    pages = page_addresses(names)
    for route in routes_with_queries({}):
        if route.name in UNSAFE:
            continue
        if "{" in route.name:
            yield route, path_of(route.name, route.name, names)
        elif route.name in pages or MARK not in route.address:
            yield route, pages.get(route.name, route.address)


def _forms(names: Names) -> Iterator[CostlyRequest]:
    """Yield forms: each text in each field, once for each module that reads the field, and a little in all fields."""
    seen = set[tuple[str, str]]()
    for route, address in _addressed(names):
        fields = fields_of(route.module) if route.module else frozenset[str]()
        for name in sorted(fields):
            new = {(name, reader) for reader in reading_modules(route.module) if name in own_fields(reader)} - seen
            seen |= new
            for cause, text in TEXTS.items() if new else ():
                body = urlencode({name: text}).encode()
                yield CostlyRequest(route.name, f"{cause} in the field {name}", "POST", address, body, FORM)
        for cause, text in TEXTS.items() if fields else ():
            body = urlencode(dict.fromkeys(fields, text[: 2000 // len(fields)])).encode()
            yield CostlyRequest(route.name, f"{cause} in all fields", "POST", address, body, FORM)


@cache
def fields_of(module: str) -> frozenset[str]:
    """Return the names of the fields of forms that a module of views reads, with those of modules that it imports."""
    return frozenset().union(*map(own_fields, reading_modules(module)))


@cache
def own_fields(module: str) -> frozenset[str]:
    """Return the names of fields that this module reads itself, and those of its forms."""
    read = re.findall(r'POST(?:\.get(?:list)?\(|\[)"([a-z_]+)"', inspect.getsource(sys.modules[module]))
    classes = (value for value in vars(sys.modules[module]).values() if isinstance(value, type))
    forms = (kind for kind in classes if issubclass(kind, BaseForm) and kind.__module__ == module)
    return frozenset(read).union(*(getattr(form, "base_fields", {}) for form in forms))


def _calls(names: Names) -> Iterator[CostlyRequest]:
    """Yield the example of each operation, and the same with each text in place of one of its texts."""
    for name, (method, path, operation) in OPERATIONS.items():
        target = path_of(name, path, names)
        for content in operation.get("requestBody", {}).get("content", {}).items():
            if content[0] != "application/json":
                continue
            example = content[1]["example"]
            yield CostlyRequest(name, "the example", method.upper(), target, json.dumps(example).encode(), JSON)
            for where, variant in _variants(example):
                yield CostlyRequest(name, where, method.upper(), target, json.dumps(variant).encode(), JSON)


def _variants(example: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (what is costly, the example with one field replaced)."""
    for key in example:
        for cause, text in TEXTS.items():
            yield f"{cause} in {key}", {**example, key: text}
        yield f"a long list in {key}", {**example, key: [1] * 2500}
        yield f"a wide object in {key}", {**example, key: {f"k{n}": n for n in range(800)}}


def _uploads() -> Iterator[CostlyRequest]:
    for page, fields in UPLOADS.items():
        for name, content in small_files().items():
            body = _multipart(fields, name, content)
            yield CostlyRequest(page, f"file {name}", "POST", page, body, MULTIPART)


def small_files() -> dict[str, bytes]:
    """Return name -> content of files of at most 9 kB that are large, deep or slow to read."""
    texts = {f"{cause}.log": text.encode()[:9000] for cause, text in TEXTS.items()}
    code = {f"{word}.log": (word + "(").encode() * (9000 // (len(word) + 1)) for word in ("Config", "dict", "array")}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.log", BREAKS)
    return texts | code | {
        "breaks.log.bz2": bz2.compress(BREAKS), "breaks.log.gz": gzip.compress(BREAKS),
        "breaks.log.xz": lzma.compress(BREAKS), "breaks.zip": packed.getvalue(),
        "commas.csv": b"step," + b"," * 8000 + b"\n1," + b"," * 800, "rows.csv": b"step,reward\n" + b"1,2\n" * 2000,
        "deep.json": b"[" * 4000, "wide.jsonl": b"{}\n" * 3000, "numbers.json": b"[" + b"1e308," * 1400 + b"1]",
    }  # fmt: skip


def _multipart(fields: Mapping[str, str], name: str, content: bytes) -> bytes:
    parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
             for key, value in fields.items()]  # fmt: skip
    for key in ("files", "file"):
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{key}"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
        content = content[:0] if len(content) > 4000 else content
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
