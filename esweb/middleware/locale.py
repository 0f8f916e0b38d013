"""Choose the language of a response: the reader's for pages, and English for every program that calls the API."""

from __future__ import annotations

from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation

API = "/api/"


class ApiLocaleMiddleware(LocaleMiddleware):
    """The middleware. Pages and the API share messages, so the language is chosen here and not at each message."""

    def process_request(self, request: HttpRequest) -> None:
        """Set the language until the next request does."""
        if request.path.startswith(API) and request.path != reverse("api-docs"):
            translation.activate("en")
            # Django's own middleware also stores it on the request.
            request.LANGUAGE_CODE = "en"
        else:
            super().process_request(request)
