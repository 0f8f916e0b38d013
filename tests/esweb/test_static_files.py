"""Scripts and styles, as the web process sends them."""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

FILE = "/static/css/tokens.css"


def test_a_stranger_gets_a_file_and_only_this_site_may_use_it(client: Client) -> None:
    answer = client.get(FILE)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/css")
    assert b"--" in answer.content
    assert "Access-Control-Allow-Origin" not in answer


def test_a_file_that_the_browser_has_is_not_sent_again(client: Client) -> None:
    seen = client.get(FILE)["Last-Modified"]
    answer = client.get(FILE, headers={"if-modified-since": seen})
    assert (answer.status_code, answer.content) == (304, b"")


def test_range_of_a_file_can_be_requested(client: Client) -> None:
    answer = client.get(FILE, headers={"range": "bytes=0-9"})
    assert (answer.status_code, answer.content) == (206, client.get(FILE).content[:10])


@pytest.mark.filterwarnings("error")
def test_the_asgi_server_sends_a_file_without_a_warning() -> None:
    answer = async_to_sync(AsyncClient().get)(FILE)
    assert (answer.status_code, answer.streaming) == (200, False)


@pytest.mark.django_db
def test_files_outside_the_folder_are_not_sent(client: Client) -> None:
    """Other addresses are answered by the site, which may query its database for that."""
    assert client.get("/static/../manage.py").status_code in {302, 404}
