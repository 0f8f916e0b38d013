"""Against a real server that misbehaves: every question is asked until it has an end, no more often, and counted."""

from __future__ import annotations

import json
import threading
from collections import Counter
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging import judge_runs
from judging.judge_runs.leases import take
from judging.judge_runs.rate_limits import Limits
from judging.models import Assignment, Call, Rubric, Tournament, Verdict
from runs.models import Experiment
from tests.fakes.judge_server import KEY, Act, Asked, JudgeServer, longer, verdict
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import held, rubric
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db
QUESTIONS = 8


def misbehave(asked: Asked) -> Act:
    """By the answers' own words, so that each of six kinds of trouble meets its own questions, always the same."""
    first, second = (text.split() for text in asked.answers)
    prompt, order = int(first[-1]), first[1] < second[1]
    return {
        0: Act("", seconds=0.05),
        1: Act(refusal="No."),
        2: Act("[[8,8]] … [[3,9]]"),
        3: Act('{"score_a": 8,'),
        4: Act(json.dumps(dict(reversed(json.loads(verdict(8, 3)).items()))), seconds=0.1),
        5: Act(verdict(3, 8, "A")),
        6: Act("Assistant A: 6\nAssistant B: 7") if order else Act("I prefer the first: [[7, 2]]"),
        7: Act(verdict(5, 5), usage=None),
    }[prompt]


def test_every_end_is_counted_as_what_it_is(ada: User, server: JudgeServer, experiment: Experiment) -> None:
    server.act = misbehave
    tournament = held(ada, experiment, prompts=8, contestants=2)
    done = worked(on(judge_at(server, ada), tournament, [rubric("helpfulness")]))
    stands = judge_runs.standing(done)
    assert done.state == Assignment.State.DONE and len(server.asked) == stands.planned == 16
    assert (stands.done, stands.failed, stands.refused, stands.unparsed) == (8, 2, 2, 4)
    assert (stands.left, stands.under_way, stands.contradicting, stands.estimated) == (0, 0, 2, 2)
    assert server.most_at_once <= 4
    outcomes = Counter(Verdict.objects.current().values_list("outcome", flat=True))
    assert outcomes == {"a": 2, "b": 4, "tie": 2, "error": 2, "refused": 2, "unparsed": 4}
    assert {key: Call.objects.filter(parser=key).count() for key in ("json", "brackets", "lines", "none")} == {
        "json": 6, "brackets": 3, "lines": 1, "none": 2,
    }  # fmt: skip


def test_busy_and_failing_servers_are_asked_again_and_nothing_is_asked_twice(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    troubles = iter([Act(status=429, headers={"retry-after": "0.2"}), Act(status=500), Act(status=503), Act(status=0)])
    server.act = lambda asked: next(troubles, None) or longer(asked)
    done = worked(on(judge_at(server, ada), tournament, rubrics))
    assert judge_runs.standing(done).done == QUESTIONS and len(server.asked) == QUESTIONS + 4
    # The reasons are to be written before the verdict, so the order of the schema's keys is kept.
    assert list(server.asked[0].body["response_format"]["json_schema"]["schema"]["properties"]) == [
        "reasoning", "score_a", "score_b", "verdict", "both_bad",
    ]  # fmt: skip
    bodies = Counter(json.dumps(one.body, sort_keys=True) for one in server.asked)
    assert len(bodies) == QUESTIONS


def test_after_a_server_died_in_the_middle_the_missing_calls_are_made_and_no_others(
    ada: User, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    with JudgeServer() as first:
        first.act = lambda asked: longer(asked) if asked.number < 3 else Act(status=0)
        judge = judge_at(first, ada)
        halted = worked(on(judge, tournament, rubrics))
    before = judge_runs.standing(halted)
    assert halted.state == Assignment.State.HALTED and "failed many times in a row" in halted.reason
    assert before.done == 3 and before.failed == 0 and before.left == QUESTIONS - 3
    with JudgeServer(port=first.port) as second:
        judge_runs.go_on(halted)
        done = worked(halted)
        assert len(second.asked) == before.left
    assert done.state == Assignment.State.DONE and judge_runs.standing(done).done == QUESTIONS
    assert Verdict.objects.current().count() == QUESTIONS


def test_a_worker_that_is_killed_loses_its_leases_and_pays_for_them(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    assignment = on(judge_at(server, ada), tournament, rubrics)
    judge_runs.fill(assignment)
    lost = take(assignment, Limits(assignment.judge))
    Call.objects.filter(state="leased").update(leased_until="2020-01-01T00:00Z")
    done = worked(assignment)
    assert len(server.asked) == QUESTIONS and judge_runs.standing(done).done == QUESTIONS
    assert done.reserved == 0 and done.spent == lost.reserved + QUESTIONS * Decimal("0.12")  # type: ignore[union-attr]


@pytest.mark.parametrize("cap", ["0", "12.5"])
def test_no_more_is_spent_than_the_cap_and_a_higher_one_lets_it_go_on(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], cap: str
) -> None:
    # As dear as a call can be: the server counts as many tokens as the most that were asked for.
    server.act = lambda asked: Act(longer(asked).text, usage={"prompt_tokens": 2000, "completion_tokens": 2048})
    halted = worked(on(judge_at(server, ada), tournament, rubrics, cap))
    assert halted.state == Assignment.State.HALTED and "cap" in halted.reason
    assert halted.spent <= Decimal(cap) and halted.reserved == 0
    assert len(server.asked) == judge_runs.standing(halted).done < QUESTIONS
    asked = len(server.asked)
    judge_runs.go_on(halted, Decimal(1000))
    assert worked(halted).state == Assignment.State.DONE and len(server.asked) == QUESTIONS > asked


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_the_asking_at_once_and_is_told_nowhere(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric], status: int
) -> None:
    server.act = lambda _: Act(status=status, body=b'{"error": {"message": "bad key %s"}}' % KEY.encode())
    halted = worked(on(judge_at(server, ada, at_once=1), tournament, rubrics))
    assert halted.state == Assignment.State.HALTED and len(server.asked) == 1 and halted.spent == 0
    assert str(status) in halted.reason and KEY not in halted.reason
    assert not Call.objects.filter(error__contains=KEY).exists()


def test_a_question_that_the_server_will_never_take_fails_and_can_be_asked_again(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    server.act = lambda asked: Act(status=400) if asked.number in (3, 6) else longer(asked)
    done = worked(on(judge_at(server, ada), tournament, rubrics))
    assert judge_runs.standing(done).failed == 2
    judge_runs.go_on(done, again=True)
    assert judge_runs.standing(worked(done)).done == QUESTIONS and len(server.asked) == QUESTIONS + 2
    assert not Verdict.objects.current().filter(outcome="error").exists()
    assert Verdict.objects.filter(outcome="error").count() == 2


@pytest.mark.django_db(transaction=True)
def test_a_cancel_is_heard_in_the_middle(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    assignment, is_cancelled = on(judge_at(server, ada, at_once=2), tournament, rubrics), threading.Event()

    def cancelled_at_the_fifth(asked: Asked) -> Act:
        if asked.number == 4:
            judge_runs.cancel(assignment)
            connection.close()
            is_cancelled.set()
        # The other call would be followed by more while this one is at it.
        elif asked.number > 4:
            is_cancelled.wait(PATIENCE_SECONDS)
        return longer(asked)

    server.act = cancelled_at_the_fifth
    assert judge_runs.work(assignment, PATIENCE_SECONDS) is None
    assert 5 <= len(server.asked) <= 6 and judge_runs.standing(assignment).left == QUESTIONS - len(server.asked)
    assert Verdict.objects.count() == len(server.asked)
    with pytest.raises(judge_runs.CannotAsk, match="only one that is running can become paused"):
        judge_runs.pause(assignment)


def test_the_same_is_never_asked_twice_by_a_judge(
    ada: User, server: JudgeServer, tournament: Tournament, rubrics: list[Rubric]
) -> None:
    judge = judge_at(server, ada)
    worked(on(judge, tournament, rubrics))
    again = worked(on(judge, tournament, rubrics))
    assert len(server.asked) == QUESTIONS and judge_runs.standing(again).done == QUESTIONS and again.spent == 0
    assert Verdict.objects.count() == QUESTIONS
