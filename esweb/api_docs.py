"""The API for people: one page made from the OpenAPI document, without any script, from this server alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from esweb.api import api


@dataclass(frozen=True)
class Parameter:
    """What an operation takes in its path, query or headers."""

    name: str
    place: str
    kind: str
    required: bool
    help: str


@dataclass(frozen=True)
class Entry:
    """An operation as the page shows it. `call` is a command that can be pasted into a terminal."""

    name: str
    method: str
    path: str
    summary: str
    help: str
    parameters: list[Parameter]
    answers: list[tuple[int, str]]
    call: str


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Every operation by its tag, with its parameters, refusals and a command that works as it stands."""
    document = api.get_openapi_schema()
    here = request.build_absolute_uri("/").rstrip("/")
    chapters: dict[str, list[Entry]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            chapters.setdefault(operation["tags"][0], []).append(_entry(here, method, path, operation))
    words = document["info"]["description"].split("\n\n")
    context = {"words": [_pieces(word) for word in words], "chapters": list(chapters.items())}
    return TemplateResponse(request, "api.html", context)


def _entry(here: str, method: str, path: str, operation: dict[str, Any]) -> Entry:
    return Entry(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        help=operation["description"],
        parameters=[_parameter(parameter) for parameter in operation["parameters"]],
        answers=sorted((int(status), said["description"]) for status, said in operation["responses"].items()),
        call=_call(here, method, path, operation),
    )


def _parameter(parameter: dict[str, Any]) -> Parameter:
    schema = parameter["schema"]
    kinds = [kind for kind in schema.get("anyOf", [schema]) if kind.get("type") != "null"]
    kind = gettext(" or ").join(_kind(kind) for kind in kinds)
    return Parameter(parameter["name"], parameter["in"], kind, parameter["required"], parameter.get("description", ""))


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return gettext("%(kind)s, repeated") % {"kind": _kind(schema["items"])}
    return str(schema.get("type", "any"))


def _call(here: str, method: str, path: str, operation: dict[str, Any]) -> str:
    """A curl command with the operation's own examples."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
    lines = [f"curl -X {method.upper()} {here}{path}", '-H "Authorization: Bearer $ESWEB_TOKEN"']
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "multipart/form-data":
            lines += _form(body)
            continue
        example = body["example"] if isinstance(body["example"], str) else json.dumps(body["example"])
        lines += [f'-H "Content-Type: {kind}"', f"--data-binary '{example.strip()}'"]
    return " \\\n  ".join(lines)


def _form(body: dict[str, Any]) -> list[str]:
    """The fields of a form; its files are on the caller's machine."""
    fields = body["schema"]["properties"]
    files = [name for name, field in fields.items() if field.get("items", {}).get("format") == "binary"]
    said = [f"-F '{name}={value}'" for name, value in body["example"].items() if name not in files]
    return [*(f"-F {name}=@run.log" for name in files), *said]


def _pieces(text: str) -> list[tuple[str, str]]:
    """(strong, code or text, its words) of a paragraph with **strong** and `code` in it."""
    out: list[tuple[str, str]] = []
    for i, bold in enumerate(text.split("**")):
        for j, piece in enumerate(bold.split("`")):
            out.append(("strong" if i % 2 else "code" if j % 2 else "text", piece))
    return out
