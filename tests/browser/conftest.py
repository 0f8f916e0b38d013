"""A real server and a real browser: uvicorn in a thread on a free port, on the tests' database; Debian's Chromium.

Playwright keeps an event loop running, in which asynchronous tests fail; so it ends with the last browser test.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from _pytest.runner import runtestprotocol
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from esweb.asgi import make_application
from runs.models import Experiment
from tests.conftest import person
from tests.runs.conftest import patient_searches
from tests.tools import not_installed
from tests.waiting import PATIENCE_SECONDS, wait_until

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The headless shell needs half the processor time of a whole Chromium."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
HERE = Path(__file__).parent
__all__ = ["patient_searches"]
PATIENCE_MS = PATIENCE_SECONDS * 1000
expect.set_options(timeout=PATIENCE_MS)
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason=not_installed("Chromium"))
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            # The server hands static files out as sync iterators and leaves the closing to the garbage collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume:Warning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
            if CHROMIUM is None:
                item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    # The browser's event loop runs in this very thread, and the tests read and write rows in it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run the last browser test as if it were the session's last: its teardown ends the browser and the server."""
    if nextitem is None or nextitem.path.is_relative_to(HERE) or not item.path.is_relative_to(HERE):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=None)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    return True


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    return {"executable_path": CHROMIUM, "args": list(ARGUMENTS), "headless": True}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, object]) -> dict[str, object]:
    """Prefer reduced motion: a moving badge keeps the processor busy as long as its page is open."""
    return {**browser_context_args, "reduced_motion": "reduce"}


@pytest.fixture(scope="session")
def collected_static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Serve bundled and compressed scripts and styles, as users get them; unbundled, a page costs 70 requests."""
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": "esweb.middleware.static_files.BundledStorage"}}
    static_root = tmp_path_factory.mktemp("static")
    with override_settings(STORAGES=storages, STATIC_ROOT=static_root, WHITENOISE_USE_FINDERS=False):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield


@pytest.fixture(scope="session")
def address(collected_static: None, django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """Yield the address of a running esweb on the tests' database, which it may reach between tests too.

    A request may outlast the page that made it. Were the database blocked as it ends, its connection could not be given
    back to the pool, and would be lost to it.
    """
    # Another test may have imported the application before the static files were collected.
    config = uvicorn.Config(make_application(), host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), "the server to start")
    assert server.started, "the server did not start"
    with django_db_blocker.unblock():
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = server.force_exit = True
        thread.join(timeout=PATIENCE_SECONDS)
        _end_other_connections()


def _end_other_connections() -> None:
    """End connections that the server's threads still hold: a database in use cannot be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    connection.close()
    connection.close_pool()


@pytest.fixture
def ada(transactional_db: None) -> User:
    """Create Ada, who owns the experiments. Rows are committed here, so that the server sees them."""
    return person("ada")


@pytest.fixture
def experiment(ada: User) -> Experiment:
    return Experiment.objects.create(name="Concise", question="Does it learn to be concise?", owner=ada)


ABORTED_REQUEST_PREFIXES = ("htmx:afterRequest,", "htmx:sendError,", "htmx:sendAbort,")
"""Messages of htmx if a page is left during a request. If a request failed, the browser complains too."""


@pytest.fixture
def complaints(page: Page) -> Iterator[list[str]]:
    """Yield the errors and warnings of the browser's console; a test that leaves any has failed."""
    messages: list[str] = []

    def record_message(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(ABORTED_REQUEST_PREFIXES):
            messages.append(message.text)

    page.set_default_timeout(PATIENCE_MS)
    page.context.on("console", record_message)
    page.context.on("weberror", lambda error: messages.append(str(error.error)))
    yield messages
    assert messages == []


@pytest.fixture
def signed_in(context: BrowserContext, page: Page, address: str, ada: User, complaints: list[str]) -> Page:
    """Return a page of Ada's browser, signed in."""
    client = Client()
    client.force_login(ada)
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])
    return page
