"""A request is answered in one thread from its first middleware to its last, and its answer is closed in it."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import AsyncToSync, SyncToAsync
from django.contrib.auth.models import User

from esweb.middleware.sync_handler import SyncHandler
from runs import access
from tests.esweb.asgi_requests import AsgiRequest, send_request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("address", "status"), [("/api/v1/runs", 200), ("/api/v1/nothing", 404), ("/", 302)])
def test_a_request_changes_threads_once(ada: User, address: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    token = access.issue(ada, "read")[1]
    request = AsgiRequest(address, method="GET").with_headers(host="localhost", authorization=f"Bearer {token}")
    site, changes = SyncHandler(), list[str]()
    to_thread, to_loop = SyncToAsync.__call__, AsyncToSync.__call__

    async def into_a_thread(self: Any, *args: Any, **more: Any) -> Any:
        changes.append(self.func.__name__)
        return await to_thread(self, *args, **more)

    def into_the_loop(self: Any, *args: Any, **more: Any) -> Any:
        changes.append(self.awaitable.__name__)
        return to_loop(self, *args, **more)

    # The calls in this test itself go into the loop.
    knocking = send_request.awaitable.__name__
    monkeypatch.setattr(SyncToAsync, "__call__", into_a_thread)
    monkeypatch.setattr(AsyncToSync, "__call__", into_the_loop)
    answer = send_request(site, request)
    assert answer.status == status
    inside = [change for change in changes if change != knocking]
    assert inside.count("get_response") == inside.count("close") == 1
    # Django's signals of a request that begins and ends.
    assert set(inside) == {"get_response", "close", "sync_send"}
