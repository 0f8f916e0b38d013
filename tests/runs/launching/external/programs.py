"""Programs elsewhere that report a run through the API, as these tests need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from runs.models import Attempt, Run
from tests.runs.api_client import calls

NEW: dict[str, Any] = {
    "kind": "external", "project": "conciseness", "method": "grpo", "config": {"seed": 3, "lr": 1e-5, "model": "tiny"},
    "tags": ["a"], "note": "first", "group": "lr", "id": "train-7", "start": "s1", "program": "esweb_client 0.1.0",
    "host": "node7", "command": "train.py --lr 1e-5",
    "git": {"commit": "ab12", "branch": "main", "remote": "https://ada:key@git.example.org/lab.git", "dirty": True},
}  # fmt: skip


def post(client: Client, address: str, body: Any = None, **headers: str) -> Any:
    """Post JSON to the API and return the response."""
    return client.post(f"/api/v1/{address}", body or {}, content_type="application/json", headers=headers)


@dataclass(frozen=True)
class Program:
    """One start of a program: the response to its creation, and a client with its token."""

    created: dict[str, Any]
    client: Client

    @property
    def key(self) -> str:
        """Return the key of its attempt."""
        return str(self.created["attempt"])

    @property
    def attempt(self) -> Attempt:
        """Return its attempt as it is now."""
        return Attempt.objects.select_related("run__external").get(key=self.key)

    @property
    def run(self) -> Run:
        """Return its run as it is now."""
        return self.attempt.run

    def heartbeat(self, **body: Any) -> Any:
        """Send a heartbeat and return the response."""
        return post(self.client, f"attempts/{self.key}/heartbeat", body)

    def end(self, **body: Any) -> Any:
        """Report the end and return the response."""
        return post(self.client, f"attempts/{self.key}/end", body)

    def push(self, *steps: int, seq: int = 0) -> Any:
        """Push one metric record per step and return the response."""
        columns = {
            "seq": seq,
            "t": [1.7e9] * len(steps),
            "step": steps,
            "values": {"loss": [step / 2 for step in steps]},
        }
        return post(self.client, f"attempts/{self.key}/records", columns)


def create(user: User, scope: str = "report", **changes: Any) -> Any:
    """Create an external run and return the response."""
    return post(calls(user, scope), "runs", NEW | changes)


def start(user: User, **changes: Any) -> Program:
    """Create an external run, or the next start of one, and return its program."""
    response = create(user, **changes)
    assert response.status_code == 201, response.content
    created = response.json()
    return Program(created, Client(headers={"authorization": f"Bearer {created['token']}"}))
