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
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebError, expect

from esweb.asgi import make_application
from runs.models import Experiment
from tests.browser.axe import AXE, ONE_VIEW, VIEWS, View
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
    # A page lives for seconds: to optimize its scripts costs more than that saves.
    "--js-flags=--no-opt,--no-maglev",
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
def shared_context(browser: Browser, browser_context_args: dict[str, Any]) -> Iterator[BrowserContext]:
    """Yield the context that tests use one after another: its cache has the scripts, downloaded and compiled."""
    context = browser.new_context(**browser_context_args)
    yield context
    context.close()


@pytest.fixture
def own_context() -> None:
    """Give the test a context of its own: one whose clock was replaced cannot get it back."""


@pytest.fixture
def context(
    request: pytest.FixtureRequest, browser: Browser, browser_context_args: dict[str, Any]
) -> Iterator[BrowserContext]:
    """Yield a context without cookies and pages, and close the pages that the test leaves."""
    if "own_context" in request.fixturenames:
        with browser.new_context(**browser_context_args) as own:
            yield own
        return
    context: BrowserContext = request.getfixturevalue("shared_context")
    yield context
    for page in context.pages:
        page.close()
    context.clear_cookies()


@pytest.fixture
def page(context: BrowserContext, address: str) -> Page:
    """Return a new page; the browser has forgotten what earlier tests let scripts store."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "local_storage"})
    session.detach()
    return page


@pytest.fixture(params=[(ONE_VIEW,), pytest.param(VIEWS, marks=pytest.mark.soak)], ids=["one view", "every view"])
def views(request: pytest.FixtureRequest) -> tuple[View, ...]:
    """Return the views in which a page is checked: one in `make test`, every one in `make soak PART=browser`."""
    return request.param


@pytest.fixture(scope="session")
def collected_static(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Serve bundled scripts and styles, as users get them, and axe; unbundled, a page costs 70 requests.

    To compress them would take 14 seconds of a core.
    """
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": "esweb.middleware.static_files.BundledStorage"}}
    static_root = tmp_path_factory.mktemp("static")
    with override_settings(
        STORAGES=storages, STATIC_ROOT=static_root, WHITENOISE_USE_FINDERS=False,
        WHITENOISE_SKIP_COMPRESS_EXTENSIONS=("js", "css"),
    ):  # fmt: skip
        call_command("collectstatic", interactive=False, verbosity=0)
        shutil.copy(AXE, static_root)
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

    def record_error(error: WebError) -> None:
        messages.append(str(error.error))

    page.set_default_timeout(PATIENCE_MS)
    page.context.on("console", record_message)
    page.context.on("weberror", record_error)
    yield messages
    # Later tests use the same context.
    page.context.remove_listener("console", record_message)
    page.context.remove_listener("weberror", record_error)
    assert messages == []


@pytest.fixture
def signed_in(context: BrowserContext, page: Page, address: str, ada: User, complaints: list[str]) -> Page:
    """Return a page of Ada's browser, signed in."""
    client = Client()
    client.force_login(ada)
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": address}])
    return page
