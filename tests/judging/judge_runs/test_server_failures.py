"""Against a real server that misbehaves: every question is sent until it has an outcome, no more often, and counted."""

from __future__ import annotations

import json
import threading
from collections import Counter
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging import judge_runs
from judging.judge_runs.leases import take_lease
from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.models import Assignment, Call, Rubric, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import KEY, JudgeRequest, JudgeServer, Reply, prefer_longer, verdict
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_tournament, rubric
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db
QUESTIONS = 8


def misbehave(request: JudgeRequest) -> Reply:
    """Choose the reply by the answers' texts, so that each kind of trouble always meets the same questions."""
    first, second = (text.split() for text in request.answers)
    prompt, order = int(first[-1]), first[1] < second[1]
    return {
        0: Reply("", seconds=0.05),
        1: Reply(refusal="No."),
        2: Reply("[[8,8]] … [[3,9]]"),
        3: Reply('{"score_a": 8,'),
        4: Reply(json.dumps(dict(reversed(json.loads(verdict(8, 3)).items()))), seconds=0.1),
        5: Reply(verdict(3, 8, "A")),
        6: Reply("Assistant A: 6\nAssistant B: 7") if order else Reply("I prefer the first: [[7, 2]]"),
        7: Reply(verdict(5, 5), usage=None),
    }[prompt]


def test_assignment_counts_every_outcome(ada: User, server: JudgeServer, experiment: Experiment) -> None:
    server.reply_to = misbehave
    tournament = make_tournament(ada, experiment, prompts=8, contestants=2)
    done = work_until_done(assign(make_judge(server, ada), tournament, [rubric("helpfulness")]))
    status = judge_runs.get_status(done)
    assert done.state == Assignment.State.DONE and len(server.requests) == status.planned == 16
    assert (status.done, status.failed, status.refused, status.unparsed) == (8, 2, 2, 4)
    assert (status.left, status.under_way, status.contradicting, status.estimated) == (0, 0, 2, 2)
    assert server.max_concurrent <= 4
    outcomes = Counter(Verdict.objects.current().values_list("outcome", flat=True))
    assert outcomes == {"a": 2, "b": 4, "tie": 2, "error": 2, "refused": 2, "unparsed": 4}
    assert {key: Call.objects.filter(parser=key).count() for key in ("json", "brackets", "lines", "none")} == {
        "json": 6, "brackets": 3, "lines": 1, "none": 2,
    }  # fmt: skip


def test_busy_server_gets_retries_without_repeated_questions(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    troubles = iter(
        [Reply(status=429, headers={"retry-after": "0.2"}), Reply(status=500), Reply(status=503), Reply(status=0)]
    )
    server.reply_to = lambda request: next(troubles, None) or prefer_longer(request)
    done = work_until_done(assign(make_judge(server, ada), tournament, rubrics))
    assert judge_runs.get_status(done).done == QUESTIONS and len(server.requests) == QUESTIONS + 4
    # The reasons must be written before the verdict, so the order of the schema's keys is preserved.
    assert list(server.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]) == [
        "reasoning", "score_a", "score_b", "verdict", "both_bad",
    ]  # fmt: skip
    bodies = Counter(json.dumps(request.body, sort_keys=True) for request in server.requests)
    assert len(bodies) == QUESTIONS


def test_assignment_resumes_with_missing_calls_after_server_died(
    ada: User, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    with JudgeServer() as first:
        first.reply_to = lambda request: prefer_longer(request) if request.number < 3 else Reply(status=0)
        judge = make_judge(first, ada)
        halted = work_until_done(assign(judge, tournament, rubrics))
    before = judge_runs.get_status(halted)
    assert halted.state == Assignment.State.HALTED and "failed many times in a row" in halted.reason
    assert before.done == 3 and before.failed == 0 and before.left == QUESTIONS - 3
    with JudgeServer(port=first.port) as second:
        judge_runs.resume(halted)
        done = work_until_done(halted)
        assert len(second.requests) == before.left
    assert done.state == Assignment.State.DONE and judge_runs.get_status(done).done == QUESTIONS
    assert Verdict.objects.current().count() == QUESTIONS


def test_killed_worker_forfeits_leases_and_their_cost(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    assignment = assign(make_judge(server, ada), tournament, rubrics)
    judge_runs.fill(assignment)
    lost = take_lease(assignment, JudgeRateLimiter(assignment.judge))
    Call.objects.filter(state="leased").update(leased_until="2020-01-01T00:00Z")
    done = work_until_done(assignment)
    assert len(server.requests) == QUESTIONS and judge_runs.get_status(done).done == QUESTIONS
    assert done.reserved == 0 and done.spent == lost.reserved + QUESTIONS * Decimal("0.12")  # type: ignore[union-attr]


@pytest.mark.parametrize(("status", "may_cost"), [(0, True), (503, False)])
def test_lost_reply_costs_what_was_reserved_for_it(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], status: int, may_cost: bool
) -> None:
    """A server that closes the connection may have answered, and one that refuses has not."""
    troubles = iter([Reply(status=status)])
    server.reply_to = lambda request: next(troubles, None) or prefer_longer(request)
    done = work_until_done(assign(make_judge(server, ada), tournament, rubrics))
    assert (done.spent > QUESTIONS * Decimal("0.12")) == may_cost and done.reserved == 0
    assert judge_runs.get_status(done).estimated == may_cost


@pytest.mark.parametrize("cap", ["0", "12.5"])
def test_cap_halts_assignment_until_raised(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], cap: str
) -> None:
    # The most expensive call: the server counts the maximum number of tokens of the request.
    server.reply_to = lambda request_count: Reply(
        prefer_longer(request_count).text, usage={"prompt_tokens": 2000, "completion_tokens": 2048}
    )
    halted = work_until_done(assign(make_judge(server, ada), tournament, rubrics, cap))
    assert halted.state == Assignment.State.HALTED and "cap" in halted.reason
    assert halted.spent <= Decimal(cap) and halted.reserved == 0
    assert len(server.requests) == judge_runs.get_status(halted).done < QUESTIONS
    request_count = len(server.requests)
    judge_runs.resume(halted, Decimal(1000))
    assert work_until_done(halted).state == Assignment.State.DONE and len(server.requests) == QUESTIONS > request_count


@pytest.mark.parametrize("status", [401, 403])
def test_refused_key_halts_assignment_without_exposing_key(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], status: int
) -> None:
    server.reply_to = lambda _: Reply(status=status, body=b'{"error": {"message": "bad key %s"}}' % KEY.encode())
    halted = work_until_done(assign(make_judge(server, ada, at_once=1), tournament, rubrics))
    assert halted.state == Assignment.State.HALTED and len(server.requests) == 1 and halted.spent == 0
    assert str(status) in halted.reason and KEY not in halted.reason
    assert not Call.objects.filter(error__contains=KEY).exists()


def test_rejected_question_fails_and_can_be_retried(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    server.reply_to = lambda request: Reply(status=400) if request.number in (3, 6) else prefer_longer(request)
    done = work_until_done(assign(make_judge(server, ada), tournament, rubrics))
    assert judge_runs.get_status(done).failed == 2
    judge_runs.resume(done, again=True)
    assert judge_runs.get_status(work_until_done(done)).done == QUESTIONS and len(server.requests) == QUESTIONS + 2
    assert not Verdict.objects.current().filter(outcome="error").exists()
    assert Verdict.objects.filter(outcome="error").count() == 2


@pytest.mark.django_db(transaction=True)
def test_cancel_takes_effect_during_work(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    assignment, is_cancelled = assign(make_judge(server, ada, at_once=2), tournament, rubrics), threading.Event()

    def cancel_at_fifth(request: JudgeRequest) -> Reply:
        if request.number == 4:
            judge_runs.cancel(assignment)
            connection.close()
            is_cancelled.set()
        # Without this wait, the other call would be followed by more during the cancel.
        elif request.number > 4:
            is_cancelled.wait(PATIENCE_SECONDS)
        return prefer_longer(request)

    server.reply_to = cancel_at_fifth
    assert judge_runs.work(assignment, PATIENCE_SECONDS) is None
    assert 5 <= len(server.requests) <= 6 and judge_runs.get_status(assignment).left == QUESTIONS - len(server.requests)
    assert Verdict.objects.count() == len(server.requests)
    with pytest.raises(judge_runs.CannotAsk, match="Only an assignment that is running can become paused"):
        judge_runs.pause(assignment)


def test_judge_reuses_answers_of_earlier_assignment(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    judge = make_judge(server, ada)
    work_until_done(assign(judge, tournament, rubrics))
    again = work_until_done(assign(judge, tournament, rubrics))
    assert len(server.requests) == QUESTIONS and judge_runs.get_status(again).done == QUESTIONS and again.spent == 0
    assert Verdict.objects.count() == QUESTIONS
