"""Regular expressions that take exponential or polynomial time: cancelled, with a message, while others are served.

The class is ReDoS (CWE-1333). Users' expressions run in PostgreSQL, which has a time limit. Our own expressions read
users' files in the server's process, where one match stops all requests: they must be linear.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs import access
from runs.access import Scope, link_text
from runs.importing import numbers, partial_json
from runs.importing.readers import log_lines, trl_dictionaries
from runs.models import Experiment, Run
from runs.responses.viewer import queries
from tests.cases import each_case
from tests.runs.full_runs import record
from tests.runs.importing.sample_logs import HEADER
from tests.runs.live_server import serving
from tests.runs.viewer_responses import address, make_response, model
from tests.waiting import PATIENCE_SECONDS
from workers.records import Metric

TEXT = "a" * 5000 + "!"
KEY = "a" * 60
HARMLESS = [r"(a+)+$", r"(a|aa)+$", r"((a*)*)*b", r"(x+x+)+y", r"(.*a){20}", r"(a{1,30}){1,30}$"]
REFUSED = [r"(", r"a{999}", r"[[:nonsense:]]", r"\1"]
TOO_COMPLEX = [r"(((a{255}){255}){255}){255}", r"(a{1,200}){1,200}$", r"((a{9}){9}){9}a{0,9}", r"a{999999}"]
# PostgreSQL matches references to groups by backtracking: these take hours if one letter does not match.
EXPLODES_IN_TEXT = r"^(a+)(a+)\1\2a!$"
EXPLODES_IN_KEY = r"^((a*)\2)+a[0-9]*$"
SEARCH_SECONDS = 0.5
"""Limit of a search of keys; a search of responses may take four times as long."""
PAUSE_SECONDS = 0.1
Get = Callable[..., httpx2.Response]


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the port of a real server."""
    with django_db_blocker.unblock(), serving() as listening:  # type: ignore[attr-defined]
        yield listening


@pytest.fixture
def run(transactional_db: None, experiment: Experiment, runs_dir: object) -> Run:
    created_run = model(experiment, "es", [make_response(n, TEXT, 0.5, 1.0, prompt=f"{TEXT}{n}") for n in range(20)])
    record(created_run, [Metric(5, {f"{KEY}{n}": 1.0 for n in range(200)})])
    return created_run


@pytest.fixture
def get(port: int, ada: User) -> Get:
    """Return a function of Ada's browser at the real server: address and parameters -> response."""
    browser = Client()
    browser.force_login(ada)
    cookies = {"sessionid": browser.cookies["sessionid"].value}

    def fetch(path: str, **params: str) -> httpx2.Response:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", params=params, cookies=cookies, timeout=PATIENCE_SECONDS)

    return fetch


def measure_during(work: Callable[[], object], get: Get) -> tuple[list[object], float]:
    """Do the work twice concurrently. Return the results, and the longest time of another request meanwhile."""
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(2)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    for thread in threads:
        while thread.is_alive():
            started_at = time.monotonic()
            assert get("/healthz").status_code == get("/settings/tokens/").status_code == 200
            slowest = max(slowest, time.monotonic() - started_at)
            # Requests without a pause would take a core.
            thread.join(PAUSE_SECONDS)
    return results, slowest


def test_response_search_is_cancelled_while_others_are_served(
    run: Run, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is half of the site's: until it, a process of PostgreSQL and this one are busy."""
    assert queries.SEARCH_TIMEOUT_MS == 4 * 1000 * SEARCH_SECONDS
    limit_seconds = 2 * SEARCH_SECONDS
    monkeypatch.setattr(queries, "SEARCH_TIMEOUT_MS", int(1000 * limit_seconds))
    path, _, _ = address(run).partition("?")
    started_at = time.monotonic()
    pages, slowest = measure_during(lambda: get(path, run=run.uid, q=EXPLODES_IN_TEXT, **{"as": "regex"}), get)
    # The search and the count of its results are one query each.
    seconds = time.monotonic() - started_at
    assert limit_seconds <= seconds < 4 * 10 * SEARCH_SECONDS and slowest < 10 * SEARCH_SECONDS, (seconds, slowest)
    for page in pages:
        assert isinstance(page, httpx2.Response) and page.status_code == 200
        assert "the query took more than 1 s; simplify it" in page.text


@each_case("shared", [False, True], ids=["compare", "shared"])
def test_key_search_is_cancelled_while_others_are_served(run: Run, get: Get, ada: User, shared: bool) -> None:
    path = f"/shared/{link_text(ada, Scope.COMPARE, [run.uid], 'day')}/" if shared else "/compare/"
    started_at = time.monotonic()
    pages, slowest = measure_during(lambda: get(path, run=run.uid, key=EXPLODES_IN_KEY), get)
    seconds = time.monotonic() - started_at
    assert SEARCH_SECONDS <= seconds < 4 * 10 * SEARCH_SECONDS and slowest < 10 * SEARCH_SECONDS, (seconds, slowest)
    for page in pages:
        assert isinstance(page, httpx2.Response) and page.status_code == 200
        assert "took too long. Try a simpler pattern" in page.text


@each_case("pattern", [*HARMLESS, *REFUSED, *TOO_COMPLEX])
def test_response_search_answers_dangerous_expressions(run: Run, get: Get, pattern: str) -> None:
    path, _, _ = address(run).partition("?")
    started_at = time.monotonic()
    page = get(path, run=run.uid, q=pattern, **{"as": "regex"})
    assert page.status_code == 200 and time.monotonic() - started_at < 10 * 10 * SEARCH_SECONDS
    assert ("invalid regular expression" in page.text) == (pattern in REFUSED)
    assert ("must multiply to at most 1000" in page.text) == (pattern in TOO_COMPLEX)


@each_case("shared", [False, True], ids=["compare", "shared"])
def test_key_search_refuses_invalid_patterns(run: Run, get: Get, ada: User, shared: bool) -> None:
    path = f"/shared/{link_text(ada, Scope.COMPARE, [run.uid], 'day')}/" if shared else "/compare/"

    # A shared page searches by the same code.
    patterns = (*REFUSED, *TOO_COMPLEX)[:: 3 if shared else 1]
    halves = iter((patterns[::2], patterns[1::2]))

    def search_half() -> dict[str, tuple[float, httpx2.Response]]:
        """Return the seconds and the page of each pattern of the next half."""
        pages = {}
        for pattern in next(halves):
            started_at = time.monotonic()
            page = get(path, run=run.uid, key=pattern)
            pages[pattern] = (time.monotonic() - started_at, page)
        return pages

    searches, slowest = measure_during(search_half, get)
    assert len(searches) == 2 and slowest < 10 * SEARCH_SECONDS
    assert sum(map(len, searches)) == len(patterns)  # type: ignore[arg-type]
    for pattern, (seconds, page) in (item for pages in searches for item in pages.items()):  # type: ignore[attr-defined]
        assert page.status_code == 200 and seconds < 4 * 10 * SEARCH_SECONDS, (pattern, seconds)
        assert ("is not a valid regular expression" in page.text) or pattern not in REFUSED, pattern
        assert ("must multiply to at most 1000" in page.text) == (pattern in TOO_COMPLEX), pattern


def test_log_search_takes_text_literally(run: Run, get: Get) -> None:
    directory = run.attempts.get().directory
    directory.mkdir(parents=True)
    (directory / "log.txt").write_text(f"{TEXT}\n" * 200 + "(a+)+$\n")
    started_at = time.monotonic()
    page = get(f"/runs/{run.uid}/log/", log_find="(a+)+$")
    assert page.status_code == 200 and time.monotonic() - started_at < 10 * SEARCH_SECONDS * 4
    assert "(a+)+$" in page.text


# Our own expressions, on users' uploads -----------------------------------------------------------------------------

LENGTH = log_lines.MAX_LINE_LENGTH
UNITS = ["a", "1,111", " ", "_", "a: ", "f(1,", "f(f(", "{'a': [", "Namespace(a=", "Config("]
STARTS = ["", "Namespace(", "assistant A"]
ENDS = ["", ")"]
READERS: list[Callable[[str], object]] = [
    numbers.unwrap_numbers, numbers.parse_number, log_lines.find_settings, trl_dictionaries.parse_dictionary,
    log_lines.parse_start_time,
    lambda line: log_lines.continues_row("x:", line), lambda line: log_lines.continues_row("x,", line),
]  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
def test_log_lines_are_read_in_linear_time(start: str) -> None:
    """A line that took 5 s before takes milliseconds; each may take half a second here."""
    slow = []
    for unit in UNITS:
        for end in ENDS:
            line = f"{start}{unit * (LENGTH // len(unit))}"[: LENGTH - 1] + end
            for number, read in enumerate(READERS):
                started_at = time.process_time()
                read(line)
                if (seconds := time.process_time() - started_at) > SEARCH_SECONDS:
                    slow.append((number, unit, end, round(seconds, 2)))
    assert slow == []


@each_case("unit", ['\\"', 'a\\"', '", "', "[", '{"a":', "\\\\"])
def test_broken_json_is_read_in_linear_time(unit: str) -> None:
    """The text has 2 MB: a quadratic parser would take hours."""
    text = '["' + unit * (2_000_000 // len(unit)) + "\\x"
    started_at = time.process_time()
    partial_json.parse(text)
    assert time.process_time() - started_at < 10 * SEARCH_SECONDS


def test_server_answers_during_hostile_import(run: Run, get: Get, port: int, ada: User) -> None:
    lines = [f"{start}{unit * (LENGTH // len(unit))}"[: LENGTH - 1] for start in STARTS for unit in UNITS]
    log = HEADER.format(seed=0) + "\n".join(lines * 2)
    files = [
        ("files", ("es.log", log.encode())),
        ("files", ("answers.json", b'["' + b'a\\"' * 500_000 + b"\\x")),
    ]
    headers = {"Authorization": f"Bearer {access.issue(ada, 'launch')[1]}"}
    url = f"http://127.0.0.1:{port}/api/v1/imports"

    def upload() -> httpx2.Response:
        return httpx2.post(url, files=files, headers=headers, timeout=PATIENCE_SECONDS)

    responses, slowest = measure_during(upload, get)
    assert slowest < 10 * SEARCH_SECONDS
    assert [answer.status_code for answer in responses if isinstance(answer, httpx2.Response)] == [200, 200]


def test_truncated_json_keeps_complete_values() -> None:
    document = partial_json.parse('[1, {"a": 2, "b": "x, [y\\"z, \\q')
    assert document is not None and document.value == [1, {"a": 2}]
