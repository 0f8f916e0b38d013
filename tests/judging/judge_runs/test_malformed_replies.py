"""A judge whose server does not enforce the schema: votes from every form that states one verdict, and reasons for the
rest, on the page, by the API and on the command line."""

from __future__ import annotations

import html
import io
import json
from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from judging.judge_runs import get_status, resume, transcript
from judging.judge_runs.status import MAX_REASONS
from judging.models import Call, Rubric, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import JudgeRequest, JudgeServer, Reply
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db

LATEX = r'{"reasoning": "The \frac{1}{2} of \( x \) is right.' + '\nSo is \t"this".", '
READABLE = [
    LATEX + '"score_a": "8", "score_b": "4/10", "verdict": "Answer A", "both_bad": false,}',
    '<think>{"verdict": "B"}</think>\n```json\n{"score_a": 9, "score_b": 2, "verdict": "a."}\n```\nDone.',
    "{'reasoning': None, 'score_a': 7, 'score_b': 6, 'verdict': 'A', 'both_bad': False}  # A",
    "Both are short, but the first is exact. [[A]]",
]
UNREADABLE = {
    '{"verdict": "A"} no: {"verdict": "B"}': "contains 2 different verdicts",
    '{"reasoning": "ok", "score_a": 11, "score_b": 4, "verdict": "A"}': "a score must be from 1 to 10, not 11",
    '{"reasoning": "ok", "score_a": 8, "score_b": 4, "verdict": "A': "its JSON object does not end",
    "<think>{'verdict': 'A'}": "its thinking does not end",
}


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=len(READABLE), contestants=2)


def test_malformed_replies_become_votes_or_reasons(
    ada: User, ada_client: Client, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    replies = [*READABLE, *UNREADABLE]
    server.reply_to = lambda request: Reply(replies[request.number])
    assignment = work_until_done(assign(make_judge(server, ada, at_once=1), tournament, rubrics))

    calls = list(Call.objects.order_by("pk"))
    states = {call.raw: call.state for call in calls}
    assert states == dict.fromkeys(READABLE, "done") | dict.fromkeys(UNREADABLE, "unparsed")
    for verdict in Verdict.objects.select_related("call"):
        assert verdict.call is not None
        expected = verdict.first if verdict.call.raw in READABLE else "unparsed"
        assert verdict.outcome == expected.lower()
        assert (verdict.score_a is None) == (verdict.call.raw not in READABLE[:3])
    reasoning = {call.raw: call.parsed["reasoning"] for call in calls if call.parsed}
    assert reasoning[READABLE[0]] == 'The \\frac{1}{2} of \\( x \\) is right.\nSo is \t"this".'

    page = ada_client.get(reverse("tournament-judges", args=[tournament.pk])).content.decode()
    body = ada_client.get(f"/api/v1/assignments/{assignment.pk}").json()
    reasons = {row["reason"]: (row["state"], row["count"]) for row in body["missing_reasons"]}
    output = io.StringIO()
    call_command("judges", "standing", str(assignment.pk), stdout=output)
    lines = {row["raw"]: row["error"] for row in transcript(assignment)}
    assert (body["done"], body["unparsed"], len(reasons)) == (4, 4, 4)
    for text, reason in UNREADABLE.items():
        stored = lines[text]
        assert reason in stored and reasons[stored] == ("unparsed", 1)
        assert f"1 unparsed: {stored}" in " ".join(page.split()) and f"1 unparsed: {stored}\n" in output.getvalue()


def test_most_frequent_reasons_are_listed_and_the_others_counted(
    ada: User, ada_client: Client, server: JudgeServer, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, prompts=6, contestants=2)
    words = [*"PQRSTU", *"PPPPQQ"]

    def reply(request: JudgeRequest) -> Reply:
        return Reply(f'{{"verdict": "{words[request.number]}"}}')

    server.reply_to = reply
    rubrics = list(tournament.rubrics.filter(criterion__slug="helpfulness"))
    assignment = work_until_done(assign(make_judge(server, ada, at_once=1), tournament, rubrics))

    status = get_status(assignment)
    named = Counter({row.reason[-2]: row.count for row in status.missing_reasons})
    assert list(named) == ["P", "Q", "R", "S", "T"] and len(named) == MAX_REASONS
    assert (named["P"], named["Q"], status.other_missing) == (5, 3, 1)
    page = ada_client.get(reverse("tournament-judges", args=[tournament.pk])).content.decode()
    assert "1 with other reasons: see the transcript" in page


def test_stored_reply_that_is_readable_by_now_is_not_requested_again(
    ada: User, server: JudgeServer, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    rubrics = list(tournament.rubrics.filter(criterion__slug="helpfulness"))
    replies = [READABLE[0], "Both are fine.", READABLE[1]]
    server.reply_to = lambda request: Reply(replies[request.number])
    assignment = work_until_done(assign(make_judge(server, ada, at_once=1), tournament, rubrics))
    # As an earlier version stored it.
    call = Call.objects.get(raw=READABLE[0])
    unread = {"state": "unparsed", "error": "not understood", "parser": "none"}
    Call.objects.filter(pk=call.pk).update(**unread, parsed={"outcome": "UNPARSED", "scores": None, "reasoning": ""})
    Verdict.objects.filter(call=call).update(outcome="unparsed", score_a=None, score_b=None)

    resume(assignment, again=True)
    status = get_status(work_until_done(assignment))

    assert (status.done, status.unparsed, len(server.requests)) == (2, 0, 3)
    call.refresh_from_db()
    assert (call.state, call.parser, call.error, call.tries) == ("done", "json", "", 1)
    current = list(Verdict.objects.current())
    assert len(current) == 2 and all(verdict.outcome == verdict.first.lower() for verdict in current)


def test_rubric_of_any_characters_reaches_the_judge_and_the_api_unharmed(
    ada: User, ada_client: Client, server: JudgeServer, experiment: Experiment
) -> None:
    text = (
        "Prefer {first} and {{second}}; {nonce} %s %(x)s \\n \\frac{1}{2} \\( x \\)\n\n"
        'Says "yes", \'no\' and `{"verdict": "B"}`: </request> <answer A> é 更 👍\u2028end'
    )
    form = {"name": "braces", "question": 'Which {is} "better"?', "text": text, "scale_low": 0, "scale_high": 5}
    ada_client.post(reverse("criteria"), form | {"text": text.replace("\n", "\r\n")})
    rubric = Rubric.objects.get(criterion__slug="braces")
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2)
    tournament.rubrics.add(rubric)
    reply = {"reasoning": text, "score_a": 0, "score_b": "5/5", "verdict": "B"}
    server.reply_to = lambda _: Reply(json.dumps(reply))

    assignment = work_until_done(assign(make_judge(server, ada), tournament, [rubric]))

    expected = f"Criterion: braces\n{form['question']}\n{text}\n\nHow to judge"
    assert rubric.text == text
    for request in server.requests:
        assert expected in request.body["messages"][0]["content"]
    for row in transcript(assignment):
        assert expected in row["sent"]["messages"][0]["content"]
        assert (row["parsed"]["reasoning"], row["parsed"]["scores"]) == (text, [0.0, 5.0])
    rows = ada_client.get("/api/v1/rubrics").json()["items"]
    assert [row["text"] for row in rows if row["criterion"] == "braces"] == [text]
    page = html.unescape(ada_client.get(rubric.get_absolute_url()).content.decode())
    assert all(line in page for line in text.split("\n") if line)
