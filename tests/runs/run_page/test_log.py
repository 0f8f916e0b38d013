import pytest
from django.urls import reverse

from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import end, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def write(run, text, n=1):
    folder = run.attempts.get(n=n).directory
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text(text)


def lines(client, run, **query):
    response = client.get(reverse("run-log", args=[run.uid]), query, headers={"hx-request": "true"})
    assert response.status_code == 200
    return response


def many(count=2000):
    return "".join(f"line {i}\n" for i in range(1, count + 1))


def test_the_page_shows_the_log_as_text_and_gives_all_of_it(ada_client, run):
    write(run, "<b>bold</b>\n")
    assert "&lt;b&gt;bold&lt;/b&gt;" in lines(ada_client, run).content.decode()
    assert "&lt;b&gt;bold&lt;/b&gt;" in ada_client.get(reverse("run-log", args=[run.uid])).content.decode()
    whole = ada_client.get(reverse("run-log-file", args=[run.uid]))
    assert b"".join(whole.streaming_content) == b"<b>bold</b>\n"
    assert whole["Content-Type"].startswith("text/plain")


def test_a_log_that_is_not_there_cannot_be_downloaded(ada_client, run):
    assert ada_client.get(reverse("run-log-file", args=[run.uid])).status_code == 404


def test_colours_are_classes(ada_client, run):
    write(run, "\x1b[31mred\x1b[0m\n")
    assert '<span class="ansi-red">red</span>' in " ".join(lines(ada_client, run).content.decode().split())


def test_the_end_is_followed_and_an_earlier_page_is_not(ada_client, run):
    write(run, many())
    assert "<log-tail" in lines(ada_client, run).content.decode()
    earlier = lines(ada_client, run, log_from=0).content.decode()
    assert "<log-tail" not in earlier
    assert "Lines 1–500" in earlier


def test_search_hit_is_displayed_and_has_an_address(ada_client, run):
    write(run, many())
    reply = lines(ada_client, run, log_find="line 700", log_after=0)
    assert 'class="line hit">line 700' in " ".join(reply.content.decode().split())
    offset = len(many(699))
    assert reply["HX-Replace-Url"] == f"{reverse('run-log', args=[run.uid])}?log_find=line+700&log_from={offset}"
    again = ada_client.get(reply["HX-Replace-Url"]).content.decode()
    assert 'class="line hit">line 700' in again


def test_search_without_hits_is_reported(ada_client, run):
    write(run, many())
    text = lines(ada_client, run, log_find="<nosuch>").content.decode()
    assert "No line contains “&lt;nosuch&gt;”" in text
    assert "line 2000" in text


def test_the_log_of_an_earlier_attempt_can_be_read(ada_client, run):
    write(run, "first\n")
    end(run)
    make_attempt(run, n=2)
    write(run, "second\n", n=2)
    assert "second" in lines(ada_client, run).content.decode()
    assert "first" in lines(ada_client, run, log_attempt=1).content.decode()


@pytest.mark.parametrize("offset", ["-1", "x", "9" * 30, "²"])
def test_invalid_offset_shows_the_end(ada_client, run, offset):
    write(run, many())
    assert "line 2000" in lines(ada_client, run, log_from=offset).content.decode()


def test_lines_have_a_page_without_scripts(ada_client, run):
    write(run, many())
    text = ada_client.get(reverse("run-log", args=[run.uid]), {"log_from": "0"}).content.decode()
    assert "<h1>" in text and "Lines 1–500" in text


def test_old_address_of_lines_leads_to_the_log(ada_client, run):
    reply = ada_client.get(run.get_absolute_url(), {"log_find": "a b", "log_from": "0"})
    assert reply["Location"] == f"{reverse('run-log', args=[run.uid])}?log_find=a+b&log_from=0"


def test_page_of_a_long_log_sends_only_the_displayed_lines(ada_client, run):
    write(run, many(100_000))
    places = {"99501–100000": {}, "50000–50499": {"log_line": 50_000}, "77777–78276": {"log_find": "77777"}}
    for lines_shown, query in places.items():
        answer = lines(ada_client, run, **query).content
        assert f"Lines {lines_shown} of a log of" in answer.decode()
        assert len(answer) < 50_000
    whole = ada_client.get(reverse("run-log", args=[run.uid]), {"log_line": 50_000}).content
    assert b"line 50000\n" in whole and len(whole) < 200_000


def test_a_line_that_was_gone_to_is_an_address_that_lasts(ada_client, run):
    write(run, many())
    answer = lines(ada_client, run, log_line=700)
    offset = len("".join(f"line {i}\n" for i in range(1, 700)))
    assert answer["HX-Replace-Url"].endswith(f"?log_from={offset}")
