"""Which language a request is answered in: pages speak the reader's, the API speaks English to every program alike."""

from __future__ import annotations

from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation

API = "/api/"


class Speaking(LocaleMiddleware):
    """The middleware. What the API refuses, a page says too; so the words are chosen here and not where they stand."""

    def process_request(self, request: HttpRequest) -> None:
        """Chooses the language until the next request does."""
        if request.path.startswith(API) and request.path != reverse("api-docs"):
            translation.activate("en")
            # As Django's own middleware leaves it on the request, for whoever asks there.
            request.LANGUAGE_CODE = "en"
        else:
            super().process_request(request)
