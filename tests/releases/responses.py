"""Read a site over its API: python -m tests.releases.responses FILE writes each response to a GET, as JSON.

`DATABASE_URL` and `ESWEB_DATA` name the site, which is not changed. With --upgrade it is migrated and its files are
followed first, in the same process.
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
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402
from django.http import HttpResponse, StreamingHttpResponse  # noqa: E402
from django.test import Client  # noqa: E402

from esweb.api import api  # noqa: E402
from runs.models import Run  # noqa: E402

JSON = ("application/json", "application/problem+json")
SCHEMA_FILE = "openapi.json"
"""The document that describes the code and not the stored rows."""


def read_answers() -> dict[str, Any]:
    """Return address -> status and content, for every GET with the examples of its parameters, and for every run."""
    answers = {}
    with transaction.atomic():
        client = Client(headers={"host": "127.0.0.1"})
        client.force_login(User.objects.get(username="ada"))
        for address in sorted({*_addresses()}):
            answers[address] = _content(client.get(address))
        # The reading session is not part of the site.
        transaction.set_rollback(True)
    return answers


def _addresses() -> Iterator[str]:
    """Yield the address of each GET in the API's document; addresses of a run once for each run."""
    runs = Run.objects.order_by("pk").values_list("uid", flat=True)
    for path, methods in api.get_openapi_schema()["paths"].items():
        if "get" in methods and not path.endswith(SCHEMA_FILE):
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


def _content(response: HttpResponse | StreamingHttpResponse) -> dict[str, Any]:
    """Return status and content: JSON as parsed, other text as text, binary content by its hash.

    The path of the data folder is replaced by DATA.
    """
    body = asyncio.run(_join_stream(response)) if isinstance(response, StreamingHttpResponse) else response.content
    try:
        text = body.decode().replace(str(settings.DATA_DIR), "DATA")
    except UnicodeDecodeError:
        return {"status": response.status_code, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    is_json = response["Content-Type"].partition(";")[0] in JSON
    return {"status": response.status_code, "content": json.loads(text) if is_json else text}


async def _join_stream(response: StreamingHttpResponse) -> bytes:
    return b"".join([piece async for piece in response])


if __name__ == "__main__":
    if "--upgrade" in sys.argv:
        call_command("migrate", verbosity=0)
        call_command("follow", once=True)
    Path(sys.argv[1]).write_text(json.dumps(read_answers()), encoding="utf-8")
