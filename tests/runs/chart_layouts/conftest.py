"""Requests of chart layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.test import RequestFactory

from runs.chart_layouts import Layout, layout_of
from runs.models import Experiment

Read = Callable[..., Layout]


@pytest.fixture
def read_layout(rf: RequestFactory) -> Read:
    """Return a function that reads the layout which a user sees at an address."""

    def read(person: User | None, page: str = "run", experiment: Experiment | None = None, **params: Any) -> Layout:
        request: HttpRequest = rf.get("/", params)
        request.user = person or AnonymousUser()
        return layout_of(request, page, experiment)

    return read
