"""Regular expressions that take exponential or polynomial time: cut off, with a sentence, while others are served.

The class is ReDoS (CWE-1333). What people search by runs in PostgreSQL, which can be told to give up. Our own
expressions read people's files in the server's process, where one match stops all requests: they must be linear.
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
from runs.importing import broken_json, numbers
from runs.importing.readers import log_lines
from runs.models import Experiment, Run
from tests.runs.full_runs import record
from tests.runs.importing.sample_logs import HEADER
from tests.runs.live_server import serving
from tests.runs.viewer_responses import address, model, said
from tests.waiting import PATIENCE_SECONDS
from workers.records import Metric

TEXT = "a" * 5000 + "!"
KEY = "a" * 60
HARMLESS = [r"(a+)+$", r"(a|aa)+$", r"((a*)*)*b", r"(x+x+)+y", r"(.*a){20}", r"(a{1,30}){1,30}$"]
REFUSED = [r"(", r"a{999}", r"[[:nonsense:]]", r"\1"]
TOO_COMPLEX = [r"(((a{255}){255}){255}){255}", r"(a{1,200}){1,200}$", r"((a{9}){9}){9}a{0,9}", r"a{999999}"]
# References to groups are what PostgreSQL matches by trying: hours for these, where one letter is left over.
EXPLODES_IN_TEXT = r"^(a+)(a+)\1\2a!$"
EXPLODES_IN_KEY = r"^((a*)\2)+a[0-9]*$"
SEARCH_SECONDS = 0.5
"""Limit of a search of keys; a search of responses may take ten times as long."""
Get = Callable[..., httpx2.Response]


@pytest.fixture(scope="module")
def port(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[int]:
    """A real server's."""
    with django_db_blocker.unblock(), serving() as listening:  # type: ignore[attr-defined]
        yield listening


@pytest.fixture
def run(transactional_db: None, experiment: Experiment, runs_dir: object) -> Run:
    made = model(experiment, "es", [said(n, TEXT, 0.5, 1.0, prompt=f"{TEXT}{n}") for n in range(20)])
    record(made, [Metric(5, {f"{KEY}{n}": 1.0 for n in range(200)})])
    return made


@pytest.fixture
def get(port: int, ada: User) -> Get:
    """Ada's browser, at the real server: an address and its parameters -> the answer."""
    browser = Client()
    browser.force_login(ada)
    cookies = {"sessionid": browser.cookies["sessionid"].value}

    def fetch(path: str, **params: str) -> httpx2.Response:
        return httpx2.get(f"http://127.0.0.1:{port}{path}", params=params, cookies=cookies, timeout=PATIENCE_SECONDS)

    return fetch


def meanwhile(work: Callable[[], object], get: Get) -> tuple[list[object], float]:
    """Do the work twice at once. Return the results, and the most seconds that another request took meanwhile."""
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(2)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    while any(thread.is_alive() for thread in threads):
        began = time.monotonic()
        assert get("/healthz").status_code == get("/settings/tokens/").status_code == 200
        slowest = max(slowest, time.monotonic() - began)
    for thread in threads:
        thread.join()
    return results, slowest


def test_search_of_responses_is_cut_off_while_others_are_served(run: Run, get: Get) -> None:
    path, _, _ = address(run).partition("?")
    ends = 10 * SEARCH_SECONDS
    began = time.monotonic()
    pages, slowest = meanwhile(lambda: get(path, run=run.uid, q=EXPLODES_IN_TEXT, **{"as": "regex"}), get)
    # The search and the count of what it would find are one question each.
    assert ends <= time.monotonic() - began < 4 * ends and slowest < ends
    for page in pages:
        assert isinstance(page, httpx2.Response) and page.status_code == 200
        assert "It took more than 5 s: ask for less" in page.text


@pytest.mark.parametrize("shared", [False, True], ids=["compare", "shared"])
def test_search_of_keys_is_cut_off_while_others_are_served(run: Run, get: Get, ada: User, shared: bool) -> None:
    path = f"/shared/{link_text(ada, Scope.COMPARE, [run.uid], 'day')}/" if shared else "/compare/"
    began = time.monotonic()
    pages, slowest = meanwhile(lambda: get(path, run=run.uid, key=EXPLODES_IN_KEY), get)
    taken = time.monotonic() - began
    assert SEARCH_SECONDS <= taken < 4 * 10 * SEARCH_SECONDS and slowest < 10 * SEARCH_SECONDS, (taken, slowest)
    for page in pages:
        assert isinstance(page, httpx2.Response) and page.status_code == 200
        assert "took too long. Try a plainer pattern" in page.text


@pytest.mark.parametrize("pattern", [*HARMLESS, *REFUSED, *TOO_COMPLEX])
def test_search_of_responses_answers_when_the_expression_looks_dangerous(run: Run, get: Get, pattern: str) -> None:
    path, _, _ = address(run).partition("?")
    began = time.monotonic()
    page = get(path, run=run.uid, q=pattern, **{"as": "regex"})
    assert page.status_code == 200 and time.monotonic() - began < 10 * 10 * SEARCH_SECONDS
    assert ("invalid regular expression" in page.text) == (pattern in REFUSED)
    assert ("may multiply to at most 1000" in page.text) == (pattern in TOO_COMPLEX)


@pytest.mark.parametrize("shared", [False, True], ids=["compare", "shared"])
@pytest.mark.parametrize("pattern", [*REFUSED, *TOO_COMPLEX])
def test_search_of_keys_refuses_with_a_sentence(run: Run, get: Get, ada: User, pattern: str, shared: bool) -> None:
    path = f"/shared/{link_text(ada, Scope.COMPARE, [run.uid], 'day')}/" if shared else "/compare/"
    began = time.monotonic()
    pages, slowest = meanwhile(lambda: get(path, run=run.uid, key=pattern), get)
    taken = time.monotonic() - began
    assert taken < 4 * 10 * SEARCH_SECONDS and slowest < 10 * SEARCH_SECONDS, (taken, slowest)
    for page in pages:
        assert isinstance(page, httpx2.Response) and page.status_code == 200
        if pattern in REFUSED:
            assert "is not a regular expression" in page.text
        assert ("may multiply to at most 1000" in page.text) == (pattern in TOO_COMPLEX)


def test_search_of_the_log_reads_words_and_no_expression(run: Run, get: Get) -> None:
    directory = run.attempts.get().directory
    directory.mkdir(parents=True)
    (directory / "log.txt").write_text(f"{TEXT}\n" * 200 + "(a+)+$\n")
    began = time.monotonic()
    page = get(f"/runs/{run.uid}/", log_find="(a+)+$")
    assert page.status_code == 200 and time.monotonic() - began < 10 * SEARCH_SECONDS * 4
    assert "(a+)+$" in page.text


# Our own expressions, on what people upload -------------------------------------------------------------------------

LENGTH = log_lines.LONGEST_LINE
UNITS = ["a", "1,111", " ", "_", "a: ", "f(1,", "f(f(", "{'a': [", "Namespace(a=", "Config("]
STARTS = ["", "Namespace(", "assistant A"]
ENDS = ["", ")"]
READERS: list[Callable[[str], object]] = [
    numbers.unwrapped, numbers.number, log_lines.settings_of, log_lines.dictionary, log_lines.began,
    lambda line: log_lines.goes_on("x:", line), lambda line: log_lines.goes_on("x,", line),
]  # fmt: skip


@pytest.mark.parametrize("start", STARTS)
def test_no_line_of_a_log_takes_longer_than_its_length(start: str) -> None:
    """A line that took 5 s before takes milliseconds; each may take half a second here."""
    slow = []
    for unit in UNITS:
        for end in ENDS:
            line = f"{start}{unit * (LENGTH // len(unit))}"[: LENGTH - 1] + end
            for number, read in enumerate(READERS):
                began = time.process_time()
                read(line)
                if (taken := time.process_time() - began) > SEARCH_SECONDS:
                    slow.append((number, unit, end, round(taken, 2)))
    assert slow == []


@pytest.mark.parametrize("unit", ['\\"', 'a\\"', '", "', "[", '{"a":', "\\\\"])
def test_json_that_breaks_off_is_read_in_linear_time(unit: str) -> None:
    """2 MB: what is quadratic takes hours."""
    text = '["' + unit * (2_000_000 // len(unit)) + "\\x"
    began = time.process_time()
    broken_json.read(text)
    assert time.process_time() - began < 10 * SEARCH_SECONDS


def test_the_server_is_quick_while_it_reads_a_hostile_file(run: Run, get: Get, port: int, ada: User) -> None:
    lines = [f"{start}{unit * (LENGTH // len(unit))}"[: LENGTH - 1] for start in STARTS for unit in UNITS]
    log = HEADER.format(seed=0) + "\n".join(lines * 2)
    files = [
        ("files", ("es.log", log.encode())),
        ("files", ("answers.json", b'["' + b'a\\"' * 500_000 + b"\\x")),
    ]
    shown = {"Authorization": f"Bearer {access.issue(ada, 'launch')[1]}"}
    url = f"http://127.0.0.1:{port}/api/v1/imports"

    def upload() -> httpx2.Response:
        return httpx2.post(url, files=files, headers=shown, timeout=PATIENCE_SECONDS)

    answers, slowest = meanwhile(upload, get)
    assert slowest < 10 * SEARCH_SECONDS
    assert [answer.status_code for answer in answers if isinstance(answer, httpx2.Response)] == [200, 200]


def test_text_that_is_cut_off_ends_the_value_before_it() -> None:
    document = broken_json.read('[1, {"a": 2, "b": "x, [y\\"z, \\q')
    assert document is not None and document.value == [1, {"a": 2}]
