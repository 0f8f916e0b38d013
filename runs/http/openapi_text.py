"""What the OpenAPI document says beyond the operations themselves: how calls are refused, repeated, paged, limited."""

from __future__ import annotations

from typing import Any

from django.conf import settings

WORDS = """Launch, watch and read runs that fine-tune language models with Evolution Strategies and GRPO.

**Coming in.** Send `Authorization: Bearer esw_…`: tokens are made under Settings, Tokens. A token acts for its person
within its scope (`read`, `ingest`, `launch`, `serve`, `admin`). What you may not see is answered 404.

**Refusals** are problem documents (RFC 9457); `problems` names everything that is wrong at once, each with its path.

**Pages.** A list answers `items` and `next`; send `next` back as `cursor` until it is null. What is made meanwhile
shifts nothing.

**Versions.** Reads carry an `ETag`. `If-None-Match` on a read is answered 304 where nothing has changed, `If-Match` on
a change 412 where something has.

**Again.** What makes something heeds `Idempotency-Key`: for 24 hours the same key with the same request is answered the
same, and nothing is made twice.

**Limits.** {calls} calls a minute by a token or a browser, {pushes} pushes of records by a token, {strangers} calls
from an address without a good token. Beyond: 429, and `Retry-After` says how many seconds to wait."""
REFUSALS = {
    401: "No token, or one that is unknown or has expired",
    403: "The token's scope or the person's role is not enough",
    404: "There is no such thing that you may see",
    422: "Something of the request cannot be used; problems names all of it",
    429: "Too many calls; Retry-After says how many seconds to wait",
}
PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "Why a call was refused (RFC 9457).",
    "required": ["type", "title", "status", "detail", "problems"],
    "properties": {
        "type": {"type": "string", "const": "about:blank"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "message"],
                "properties": {"path": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}


def words() -> str:
    """The description, with the limits of this site."""
    return WORDS.format(
        calls=settings.CALLS_PER_MINUTE, pushes=settings.PUSHES_PER_MINUTE, strangers=settings.STRANGERS_PER_MINUTE
    )


def complete(document: dict[str, Any]) -> None:
    """Adds to each operation how it refuses."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    for methods in document["paths"].values():
        for method, operation in methods.items():
            for status, why in _refusals(method, operation).items():
                operation["responses"].setdefault(status, _refusal(why))


def _refusals(method: str, operation: dict[str, Any]) -> dict[int, str]:
    refusals = dict(REFUSALS)
    if any(parameter["name"] == "If-Match" for parameter in operation["parameters"]):
        refusals[412] = "It has changed since the version that If-Match names"
    if method in ("post", "patch"):
        refusals[409] = "It cannot be done as things stand; detail says why"
    if (body := operation.get("requestBody")) is not None:
        refusals[400] = "The body cannot be read: it is not what Content-Type and Content-Encoding say"
        refusals[413] = "The body is too big"
        if body["content"].keys() != {"application/json"}:
            refusals[415] = "The body is packed in a way that is not known here"
    return refusals


def _refusal(why: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": why, "content": {"application/problem+json": {"schema": schema}}}
