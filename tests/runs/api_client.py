"""A script that calls the API with a token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from runs import access
from runs.models import Run


def calls(user: User, scope: str = "launch", run: Run | None = None) -> Client:
    """Return a client that sends a new token of this user."""
    _, text = access.issue(user, scope, run=run)
    return Client(headers={"authorization": f"Bearer {text}"})


def paths(answer: Any) -> dict[str, str]:
    """path -> message of a problem document."""
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["type"]) == (answer.status_code, "about:blank")
    return {p["path"]: p["message"] for p in body["problems"]}
