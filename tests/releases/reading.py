"""Reads a site over its API: python -m tests.releases.reading FILE writes each answer to a GET, as JSON.

`DATABASE_URL` and `ESWEB_DATA` name the site. Nothing of it is changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import django

django.setup()

from django.conf import settings  # noqa: E402  (models exist only once Django is set up)
from django.contrib.auth.models import User  # noqa: E402
from django.db import transaction  # noqa: E402
from django.http import HttpResponse, StreamingHttpResponse  # noqa: E402
from django.test import Client  # noqa: E402

from esweb.api import api  # noqa: E402
from runs.models import Run  # noqa: E402

JSON = ("application/json", "application/problem+json")
NUMBERED = "openapi.json"
"""It describes the code and not what is stored."""


def answers() -> dict[str, Any]:
    """Return address -> status and content, for every GET with the examples of its parameters, and for every run."""
    read = {}
    with transaction.atomic():
        client = Client(headers={"host": "127.0.0.1"})
        client.force_login(User.objects.get(username="ada"))
        for address in sorted({*_addresses()}):
            read[address] = _content(client.get(address))
        # The session that reads is no part of what is read.
        transaction.set_rollback(True)
    return read


def _addresses() -> Iterator[str]:
    """Yield the address of each GET as the description gives it, and of those of a run for each run."""
    runs = Run.objects.order_by("pk").values_list("uid", flat=True)
    for path, methods in api.get_openapi_schema()["paths"].items():
        if "get" in methods and not path.endswith(NUMBERED):
            for uid in runs if "{uid}" in path else [""]:
                yield _address(path, methods["get"]["parameters"], uid)


def _address(path: str, parameters: list[dict[str, Any]], uid: str) -> str:
    query = {}
    for parameter in parameters:
        name, example = parameter["name"], parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", uid if name == "uid" else str(example))
        elif example is not None:
            query[name] = example
    return f"{path}?{urlencode(query, doseq=True)}" if query else path


def _content(answer: HttpResponse | StreamingHttpResponse) -> dict[str, Any]:
    """JSON as it is, other content by its text or, where it is none, by its hash. The data folder has one name."""
    body = asyncio.run(_joined(answer)) if isinstance(answer, StreamingHttpResponse) else answer.content
    try:
        text = body.decode().replace(str(settings.DATA_DIR), "DATA")
    except UnicodeDecodeError:
        return {"status": answer.status_code, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    is_json = answer["Content-Type"].partition(";")[0] in JSON
    return {"status": answer.status_code, "content": json.loads(text) if is_json else text}


async def _joined(answer: StreamingHttpResponse) -> bytes:
    return b"".join([piece async for piece in answer])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(answers()), encoding="utf-8")
