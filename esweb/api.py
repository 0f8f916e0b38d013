"""The REST API at /api/v1/, described at /api/v1/openapi.json."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI

from runs.api import router
from runs.api.auth import closed
from runs.api.problems import answer_in_words


class Api(NinjaAPI):
    """Answers in its own words, instead of sending a script to the sign-in page: each address asks for its token."""

    def _get_urls(self) -> list[URLPattern | URLResolver]:
        urls = super()._get_urls()
        for view in (url.callback for url in urls if isinstance(url, URLPattern)):
            login_not_required(view)
        return urls


api = Api(
    title="esweb",
    version="1",
    description="Launch, watch and read runs that fine-tune language models with Evolution Strategies and GRPO.",
    urls_namespace="api",
    docs_url=None,
    docs_decorator=closed,
)
answer_in_words(api)
api.add_router("", router)
