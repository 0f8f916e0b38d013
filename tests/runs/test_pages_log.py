import pytest
from django.urls import reverse

from runs.views.log import TAIL_BYTES, printable, tail
from tests.runs.pages import make_run


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[1;32mgreen\x1b[0m", "green"),
        ("10%\r50%\r100%", "100%"),
        ("dos line\r", "dos line"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("bell\x07 and null\x00", "bell and null"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_a_line_is_shown_as_a_terminal_would_leave_it(line, shown):
    assert printable(line) == shown


def test_the_tail_is_the_last_lines(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("".join(f"line {i}\n" for i in range(500)))
    assert tail(log).split("\n") == [f"line {i}" for i in range(300, 500)]


def test_a_huge_log_is_read_from_its_end(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * (3 * TAIL_BYTES) + b"\n" + "Ende: ä\n".encode())
    assert tail(log) == "Ende: ä"


def test_bytes_that_are_not_text_do_no_harm(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"ok\n\xff\xfe\n")
    assert tail(log).startswith("ok\n")


def test_no_log_yet_is_empty(tmp_path):
    assert tail(tmp_path / "log.txt") == ""


@pytest.mark.django_db
def test_the_page_shows_the_log_as_text_and_gives_all_of_it(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    folder = run.newest_attempt().directory
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("<b>bold</b>\n")
    assert "&lt;b&gt;bold&lt;/b&gt;" in ada_client.get(reverse("run-log", args=[run.uid])).content.decode()
    whole = ada_client.get(reverse("run-log-file", args=[run.uid]))
    assert b"".join(whole.streaming_content) == b"<b>bold</b>\n"
    assert whole["Content-Type"].startswith("text/plain")


@pytest.mark.django_db
def test_a_log_that_is_not_there_cannot_be_downloaded(ada_client, experiment, runs_dir):
    assert ada_client.get(reverse("run-log-file", args=[make_run(experiment).uid])).status_code == 404
