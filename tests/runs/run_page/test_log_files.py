import time
import tracemalloc

import pytest

from runs.run_page.log import line_index
from runs.run_page.log.files import PAGE_LINES, find, page_from, page_until
from runs.run_page.log.line_index import BLOCK_BYTES, PAGE_BYTES, line_start
from tests.cases import each_case

MILLION = 1_000_000


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1, 2001)))
    return path


@pytest.fixture(scope="module")
def huge(tmp_path_factory):
    """Write a log of a million lines, 100 MB."""
    path = tmp_path_factory.mktemp("huge") / "log.txt"
    some = "".join(f"step {i:7d} of a long training, " + "x" * 66 + "\n" for i in range(1, 10_001)).encode()
    with path.open("wb") as file:
        for _ in range(MILLION // 10_000 - 1):
            file.write(some)
        file.write(some[:-100] + b"\x1b[31mout of MEMORY\x1b[0m\n" + b"end\n")
    return path


def test_the_end_is_the_last_lines_with_their_numbers(log):
    page = page_until(log)
    assert (page.first, page.last, page.is_last, page.is_first) == (2001 - PAGE_LINES, 2000, True, False)
    assert page.lines[-1].text == "line 2000"


def test_pages_join_without_gap_or_overlap_forwards_and_backwards(log):
    there, at = [], 0
    while at < log.stat().st_size:
        page = page_from(log, at)
        there, at = there + [line.text for line in page.lines], page.end
    assert there == [f"line {i}" for i in range(1, 2001)]
    back, page = [], page_until(log)
    while page.lines:
        back = [line.text for line in page.lines] + back
        page = page_until(log, page.start) if page.start else page_from(log, page.size)
    assert back == there


def test_a_place_inside_a_line_shows_that_line_from_its_beginning(log):
    assert page_from(log, 10).lines[0].text == "line 2"


def test_a_place_behind_the_end_shows_nothing_and_breaks_nothing(log):
    assert page_from(log, 10**12).lines == []


def test_a_huge_line_is_read_from_its_end(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * (3 * PAGE_BYTES) + b"\n" + "Ende: ä\n".encode())
    assert page_until(log).text == "Ende: ä"
    assert len(page_from(log, 0).text) == PAGE_BYTES
    assert page_from(log, PAGE_BYTES).start == PAGE_BYTES


def test_rewritten_progress_bar_is_one_line(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("start\n" + "".join(f"\r{i / 1000:.1f}% of the epoch" for i in range(100_001)) + "\nend\n")
    assert [line.text for line in page_until(log).lines][-2:] == ["100.0% of the epoch", "end"]
    assert page_until(log).last == 3
    assert page_from(log, 0).lines[0].text == "start"


def test_bytes_that_are_not_text_do_no_harm(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"ok\n\xff\xfe\n")
    assert page_until(log).text.startswith("ok\n")


def test_no_log_yet_is_empty(tmp_path):
    assert page_until(tmp_path / "log.txt").lines == []
    assert page_until(None).lines == []
    assert find(tmp_path / "log.txt", "x") is None


def test_search_goes_forwards_backwards_and_wraps_around(log):
    def at(hit):
        return page_from(log, hit).lines[0].text

    first = find(log, "LINE 19")
    assert at(first) == "line 19"
    assert at(find(log, "line 19", after=first + 1)) == "line 190"
    assert at(find(log, "line 19", before=first)) == "line 1999"
    assert at(find(log, "line 3\n", after=first)) == "line 3"
    assert find(log, "nosuch") is None


def test_lines_that_hold_the_words_are_marked(log):
    assert [line.text for line in page_from(log, 0, "line 50").lines if line.is_hit] == ["line 50", "line 500"]


def test_search_finds_a_hit_across_two_blocks(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"." * (BLOCK_BYTES - 3) + b"needle\n")
    assert find(log, "needle") is not None
    assert find(log, "needle", before=log.stat().st_size) is not None


@pytest.mark.parametrize("block_bytes", [64, BLOCK_BYTES])
def test_a_line_is_gone_to_by_its_number(log, monkeypatch, block_bytes):
    monkeypatch.setattr(line_index, "BLOCK_BYTES", block_bytes)
    for number in (1, 2, 9, 10, 1000, 1999, 2000):
        page = page_from(log, line_start(log, number))
        assert (page.first, page.lines[0].text) == (number, f"line {number}")


@each_case(("number", "expected"), [(0, "line 1"), (2001, "line 2000"), (10**15, "line 2000")])
def test_a_number_that_no_line_has_goes_to_the_nearest(log, number, expected):
    assert page_from(log, line_start(log, number)).lines[0].text == expected


def test_line_of_an_empty_or_missing_log_is_its_beginning(tmp_path):
    (tmp_path / "log.txt").touch()
    assert line_start(tmp_path / "log.txt", 3) == line_start(tmp_path / "nosuch", 3) == line_start(None, 3) == 0


def test_search_of_a_million_lines_holds_few_blocks(huge):
    tracemalloc.start()
    page = page_from(huge, line_start(huge, MILLION // 2))
    hit = find(huge, "Out of memory")
    page_until(huge)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (page.first, hit is not None) == (MILLION // 2, True)
    assert peak < 5 * BLOCK_BYTES


def test_a_million_lines_open_and_are_searched_at_once(huge):
    page_until(huge)
    start = time.thread_time()
    page = page_until(huge)
    assert (page.last, page.lines[-1].text) == (MILLION + 1, "end")
    assert page_from(huge, huge.stat().st_size // 2).lines
    opened, start = time.thread_time() - start, time.thread_time()
    hit = find(huge, "Out of memory")
    assert page_from(huge, hit, "out of memory").lines[0].is_hit
    # A page is ten milliseconds, a search through all of it a quarter of a second, on a machine that is also busy.
    assert opened < 1
    assert time.thread_time() - start < 5
