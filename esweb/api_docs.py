"""Pages about the API, made from its OpenAPI document: a list of operations, and one page for each group."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from esweb.api import api
from runs.http.parameters import require_choice


@dataclass(frozen=True)
class Parameter:
    """A parameter that an operation takes in its path, query or headers."""

    name: str
    location: str
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
    responses: list[tuple[int, str]]
    call: str


@login_not_required
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show a list of all operations by group or, with `?group=`, the operations of one group in full.

    Everybody may read it, like the document that it is made from.
    """
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    document = api.get_openapi_schema()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((path, method, operation))
    name = require_choice(request, "group", groups, "")
    site_url = request.build_absolute_uri("/").rstrip("/")
    context = {
        "introduction": [_pieces(paragraph) for paragraph in document["info"]["description"].split("\n\n")],
        "groups": {group: [_summary(*operation) for operation in rows] for group, rows in groups.items()},
        "group": name,
        "entries": [_entry(site_url, *operation) for operation in groups.get(name, [])],
    }
    return TemplateResponse(request, "api.html", context)


def _summary(path: str, method: str, operation: dict[str, Any]) -> dict[str, str]:
    return {
        "name": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
    }


def _entry(site_url: str, path: str, method: str, operation: dict[str, Any]) -> Entry:
    return Entry(
        name=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        help=operation["description"],
        parameters=[_parameter(parameter) for parameter in operation["parameters"]],
        responses=sorted((int(status), response["description"]) for status, response in operation["responses"].items()),
        call=_call(site_url, method, path, operation),
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


def _call(site_url: str, method: str, path: str, operation: dict[str, Any]) -> str:
    """Return a curl command with the operation's own examples."""
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(parameter["example"]))
    lines = [f"curl -X {method.upper()} {site_url}{path}", '-H "Authorization: Bearer $ESWEB_TOKEN"']
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        if kind == "multipart/form-data":
            lines += _form(body)
            continue
        example = body["example"] if isinstance(body["example"], str) else json.dumps(body["example"])
        lines += [f'-H "Content-Type: {kind}"', f"--data-binary '{example.strip()}'"]
    return " \\\n  ".join(lines)


def _form(body: dict[str, Any]) -> list[str]:
    """Return the fields of a form; its files are on the caller's machine."""
    fields = body["schema"]["properties"]
    files = [name for name, field in fields.items() if field.get("items", {}).get("format") == "binary"]
    options = [f"-F '{name}={value}'" for name, value in body["example"].items() if name not in files]
    return [*(f"-F {name}=@run.log" for name in files), *options]


def _pieces(text: str) -> list[SafeString]:
    """Return the parts of a paragraph, with **strong** and `code` as elements and all else escaped."""
    pieces = []
    for i, bold in enumerate(text.split("**")):
        for j, piece in enumerate(bold.split("`")):
            element = "<strong>{}</strong>" if i % 2 else "<code>{}</code>" if j % 2 else "{}"
            pieces.append(format_html(element, piece))
    return pieces
