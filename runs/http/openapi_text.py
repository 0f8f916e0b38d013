"""Texts of the OpenAPI document beyond the operations: refusals, repetition, paging, limits."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs.models.token import SCOPES

DESCRIPTION = """Launch, watch and read runs that fine-tune language models with Evolution Strategies and GRPO.

**Authentication.** Send `Authorization: Bearer esw_…`; create tokens under Settings, Tokens. A token acts for its user
within its scope ({scopes}). Objects that you may not see give 404.

**Errors** are problem documents (RFC 9457). `problems` lists all problems of the request, each with its path.

**Pages.** A list returns `items` and `next`; send `next` back as `cursor` until it is null. New objects do not shift
the pages.

**Versions.** Reads return an `ETag`. A read with `If-None-Match` gives 304 if nothing has changed; a change with
`If-Match` gives 412 if something has.

**Repetition.** Calls that create something accept an `Idempotency-Key`: for 24 hours, the same key with the same
request gets the same response, and nothing is created twice.

**Limits.** {calls} calls per minute and token or browser, {pushes} pushes of records per minute and token, {strangers}
calls per minute and address without a valid token. Beyond these limits the response is 429, and `Retry-After` is the
number of seconds to wait."""
REFUSALS = {
    401: "No token, or one that is unknown or has expired",
    403: "The token's scope or the user's role is not sufficient",
    404: "The object does not exist, or you may not see it",
    422: "The request contains invalid values; problems lists all of them",
    429: "Too many calls; Retry-After is the number of seconds to wait",
}
PROBLEM = {
    "title": "Problem",
    "type": "object",
    "description": "Reason why a call was refused (RFC 9457).",
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


def description() -> str:
    """Return the description, with the limits of this site."""
    return DESCRIPTION.format(
        scopes=", ".join(f"`{name}`" for name in SCOPES),
        calls=settings.CALLS_PER_MINUTE,
        pushes=settings.PUSHES_PER_MINUTE,
        strangers=settings.STRANGERS_PER_MINUTE,
    )


def add_refusals(document: dict[str, Any]) -> None:
    """Add to each operation the responses with which it may be refused."""
    document["components"]["schemas"]["Problem"] = PROBLEM
    for methods in document["paths"].values():
        for method, operation in methods.items():
            for status, reason in _refusals(method, operation).items():
                operation["responses"].setdefault(status, _refusal(reason))


def _refusals(method: str, operation: dict[str, Any]) -> dict[int, str]:
    refusals = dict(REFUSALS)
    if any(parameter["name"] == "If-Match" for parameter in operation["parameters"]):
        refusals[412] = "The object has changed since the version in If-Match"
    if method in ("post", "patch"):
        refusals[409] = "The call conflicts with the current state; detail gives the reason"
    if (body := operation.get("requestBody")) is not None:
        refusals[400] = "The body cannot be read: it does not match Content-Type and Content-Encoding"
        refusals[413] = "The body is too large"
        if body["content"].keys() != {"application/json"}:
            refusals[415] = "The body's Content-Encoding is not supported"
    return refusals


def _refusal(reason: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": reason, "content": {"application/problem+json": {"schema": schema}}}
