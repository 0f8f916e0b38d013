"""The REST API at /api/v1/, described at /api/v1/openapi.json."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.views.decorators.http import require_safe
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation, PathView
from ninja.parser import Parser

import esweb.experiment_archives.api  # noqa: F401  (adds its operations to the router)
import judging.api  # noqa: F401  (adds its operations to the router)
import runs.api  # noqa: F401  (likewise)
from runs.http import add_error_handlers, add_etag, add_refusals, description, not_allowed, router
from workers.config.shallow_json import loads


class BodyParser(Parser):
    """A parser of JSON bodies that refuses values nested deeper than recursive code can walk."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the body's JSON value. Raise ValueError if it is none or nested too deep."""
        return loads(request.body)


class Api(NinjaAPI):
    """The API. It answers with problem documents instead of sending a script to the sign-in page: every operation needs
    a token. Only its description is public: it is made from the code and contains no data."""

    def _get_urls(self) -> list[URLPattern | URLResolver]:
        urls = super()._get_urls()
        for url in urls:
            if isinstance(url, URLPattern):
                url.callback = login_not_required(_with_full_responses(url.callback))
        return urls

    def operation(self, url_name: str | None, method: str) -> Operation | None:
        """Return the operation at the route of that name which answers the method; None if there is none."""
        view = self._views_by_url_name.get(url_name or "")
        return next((candidate for candidate in view.operations if method in candidate.methods), None) if view else None

    @cached_property
    def _views_by_url_name(self) -> dict[str, PathView]:
        views = [view for router in self._get_bound_routers() for view in router.path_operations.values()]
        return {operation.view_func.__name__: view for view in views for operation in view.operations}

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Return the name of its function, which is unique."""
        return operation.view_func.__name__

    def get_openapi_schema(self, **_options: Any) -> OpenAPISchema:
        """Return the OpenAPI document, with how each operation refuses. It is the same object for every caller."""
        return self._openapi_schema

    @cached_property
    def _openapi_schema(self) -> OpenAPISchema:
        document = super().get_openapi_schema()
        add_refusals(document)
        return document


def _with_full_responses(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Give ninja's responses their version, and a message if they have only a status."""

    @wraps(view)
    def inner(request: HttpRequest, *args: Any, **more: Any) -> HttpResponseBase:
        answer = view(request, *args, **more)
        if isinstance(answer, HttpResponseNotAllowed):
            return not_allowed(answer)
        return add_etag(request, answer)

    return inner


api = Api(
    title="esweb",
    version="1",
    description=description(),
    urls_namespace="api",
    docs_url=None,
    docs_decorator=require_safe,
    parser=BodyParser(),
)
add_error_handlers(api)
api.add_router("", router)
