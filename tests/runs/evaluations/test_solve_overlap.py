"""Which prompts two evaluations solve: counts and p-values by hand, from responses that were written through ingest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from runs.evaluations.solve_overlap import NoSolveOverlap, compare_solved, overlap_notes, overlap_table
from runs.models import Experiment, Response, Run
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, record
from workers import records
from workers.config import RunConfig

pytestmark = pytest.mark.django_db
Marks = Sequence[float | None]
"""Correctness of a prompt's responses, the greedy one first; None: recorded before responses had the part."""
FIRST = {"a": (0, 1, 0), "b": (0, 1, 1), "c": (1, 0, 0), "d": (0, 0, 0), "e": (0, 0, 1), "alone": (1, 1, 1)}
SECOND = {"a": (0, 1, 1), "b": (1, 0, 0), "c": (0, 0, 1), "d": (0, 0, 0), "e": (0, 0, 0), "other": (1, 1, 1)}


def make_evaluation(experiment: Experiment, name: str, **evaluate: Any) -> Run:
    """Create a run of method evaluate without responses."""
    data = {"method": "evaluate", "model": {"path": "micro"}, "evaluate": evaluate}
    run = Run.objects.create(
        experiment=experiment, name=name, method="evaluate", seed=0, config=RunConfig.from_json(data).to_json(),
        created_by=experiment.owner,
    )  # fmt: skip
    make_attempt(run)
    return run


def responses(marks: Mapping[str, Marks], step: int = 0, *categories: str) -> list[records.Record]:
    """Return the responses of a step in the evaluator's order: greedy ones first, then each round of samples."""
    rounds = max(map(len, marks.values()))
    return [
        answer(
            step, f"{name} {sample}", sample=sample, prompt_id=name, prompt=f"Question {name}?", categories=categories,
            parts={"length": 3.0} if of[sample] is None else {"length": 3.0, "correct": of[sample]},
        )
        for sample in range(rounds) for name, of in marks.items() if sample < len(of)
    ]  # fmt: skip


@pytest.fixture
def pair(experiment: Experiment) -> tuple[Run, Run]:
    """Return two evaluations of step 0, which share the prompts a to e."""
    first, second = make_evaluation(experiment, "before"), make_evaluation(experiment, "after")
    record(first, responses(FIRST))
    record(second, responses(SECOND))
    return first, second


def test_shared_prompts_are_counted_by_their_samples(pair: tuple[Run, Run]) -> None:
    """Samples solve a, b and e in the first, a and c in the second; the greedy responses would say otherwise."""
    first, second = pair
    overlap = compare_solved((first, 0), (second, 0))
    assert (overlap.n, overlap.both, overlap.only_first, overlap.only_second, overlap.neither) == (5, 1, 2, 1, 1)
    assert overlap.p == 1.0, "2 · (1 + 3) / 8, at most 1"
    assert overlap.decided_by == "samples" and "at least one sample" in overlap.rule and overlap.cautions == []
    rows = [(row.prompt.name, row.first.text, row.second.text) for row in overlap.prompts]
    assert rows == [("b", "2/2", "0/2"), ("e", "1/2", "0/2"), ("c", "0/2", "1/2")]


def test_p_value_is_that_of_the_discordant_prompts(experiment: Experiment) -> None:
    """Six prompts are solved by the first alone: p = 2 / 2⁶. The concordant ones do not matter."""
    first, second = make_evaluation(experiment, "before"), make_evaluation(experiment, "after")
    record(first, responses({**{f"q{i}": (0, 1) for i in range(6)}, "easy": (1, 1), "hard": (0, 0)}))
    record(second, responses({**{f"q{i}": (0, 0) for i in range(6)}, "easy": (1, 1), "hard": (0, 0)}))
    overlap = compare_solved((first, 0), (second, 0))
    assert (overlap.n, overlap.both, overlap.only_first, overlap.only_second, overlap.neither) == (8, 1, 6, 0, 1)
    assert overlap.p == 2 / 64


def test_greedy_responses_decide_for_both_if_one_has_no_samples(pair: tuple[Run, Run], experiment: Experiment) -> None:
    greedy = make_evaluation(experiment, "greedy")
    record(greedy, responses({"a": (1,), "b": (0,), "c": (1,), "d": (0,), "e": (0,)}))
    overlap = compare_solved((pair[1], 0), (greedy, 0))
    assert overlap.decided_by == "greedy" and "greedy response" in overlap.rule
    assert (overlap.n, overlap.both, overlap.only_first, overlap.only_second, overlap.neither) == (5, 0, 1, 2, 2)
    assert [(row.prompt.name, row.first.text, row.second.text) for row in overlap.prompts] == [
        ("b", "1/1", "0/1"), ("a", "0/1", "1/1"), ("c", "0/1", "1/1"),
    ]  # fmt: skip


def test_two_steps_of_one_run_are_compared(experiment: Experiment) -> None:
    run = make_evaluation(experiment, "course")
    record(run, [*responses({"a": (0, 0), "b": (0, 1)}, 0), *responses({"a": (0, 1), "b": (0, 0)}, 50)])
    overlap = compare_solved((run, 0), (run, 50))
    assert (overlap.only_first, overlap.only_second) == (1, 1)
    assert [(row.prompt.name, row.first.text, row.second.text) for row in overlap.prompts] == [
        ("b", "1/1", "0/1"), ("a", "0/1", "1/1"),
    ]  # fmt: skip


def test_superseded_responses_do_not_count(pair: tuple[Run, Run]) -> None:
    first, second = pair
    end(first)
    make_attempt(first, n=2)
    record(first, responses({"a": (0, 0, 0), "d": (1, 1, 1)}))
    assert Response.objects.filter(run=first, is_superseded=True).count() == 6 * 3
    overlap = compare_solved((first, 0), (second, 0))
    assert (overlap.n, overlap.only_first, overlap.only_second) == (2, 1, 1)


def test_prior_task_is_compared_apart_from_the_own_one(experiment: Experiment) -> None:
    prior = [{"name": "countdown"}]
    first, second = (make_evaluation(experiment, name, prior_tasks=prior) for name in ("before", "after"))
    own, earlier = {"a": (0, 1), "b": (0, 0)}, {"sum": (0, 1), "product": (0, 1)}
    record(first, [*responses(own), *responses(earlier, 0, "countdown")])
    record(second, [*responses(own), *responses(earlier | {"sum": (0, 0)}, 0, "countdown")])
    overlap = compare_solved((first, 0), (second, 0))
    assert (overlap.n, overlap.both, overlap.neither) == (2, 1, 1)
    overlap = compare_solved((first, 0), (second, 0), "countdown")
    assert (overlap.n, overlap.both, overlap.only_first) == (2, 1, 1)
    with pytest.raises(NoSolveOverlap, match="before was not evaluated on the prior task safety"):
        compare_solved((first, 0), (second, 0), "safety")


def test_responses_without_the_part_give_a_reason(pair: tuple[Run, Run], experiment: Experiment) -> None:
    """A single response without the part is enough: it must never count as wrong."""
    old = make_evaluation(experiment, "old")
    record(old, responses({"a": (1, 1, None), "b": (0, 1, 1)}))
    with pytest.raises(NoSolveOverlap, match="old did not record at step 0 which responses are correct"):
        compare_solved((pair[0], 0), (old, 0))


def test_evaluations_without_common_prompts_or_responses_give_a_reason(
    pair: tuple[Run, Run], experiment: Experiment
) -> None:
    other = make_evaluation(experiment, "other")
    record(other, responses({"x": (1, 1)}))
    with pytest.raises(NoSolveOverlap, match="no prompt in common"):
        compare_solved((pair[0], 0), (other, 0))
    with pytest.raises(NoSolveOverlap, match="before has no recorded responses at step 7"):
        compare_solved((pair[0], 7), (other, 0))


def test_unequal_evaluations_give_cautions(pair: tuple[Run, Run], experiment: Experiment) -> None:
    strict = make_evaluation(experiment, "strict", correct="exact")
    record(strict, responses({"a": (0, 1), "b": (0,)}))
    overlap = compare_solved((pair[0], 0), (strict, 0))
    assert overlap.n == 1, "b has no sample yet"
    assert overlap.cautions == [
        "strict has fewer responses to some prompts at step 0: its evaluation is incomplete.",
        "The evaluations have 2 and 1 samples per prompt: more samples solve more.",
        "The evaluations define a correct response differently (evaluate.correct).",
    ]


def test_each_evaluation_is_read_by_one_query_on_the_index(pair: tuple[Run, Run], experiment: Experiment) -> None:
    """Without statistics of a table of real size, the planner takes any index, or none."""
    first, second = pair
    other = make_evaluation(experiment, "course")
    for step in range(0, 500, 10):
        record(other, responses(dict.fromkeys(FIRST, (0,) * 8), step))
    with CaptureQueriesContext(connection) as queries:
        compare_solved((first, 0), (second, 0))
    assert len(queries) == 3, "one for each evaluation, and the prompts"
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE runs_response")
        for query in queries.captured_queries[:2]:
            cursor.execute(f"EXPLAIN {query['sql']}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "response_by_step" in plan and "Seq Scan on runs_response" not in plan, plan


def test_table_has_the_prompts_that_one_evaluation_solves(pair: tuple[Run, Run]) -> None:
    first, second = pair
    overlap = compare_solved((first, 0), (second, 0))
    lines = overlap_table(overlap).csv().splitlines()
    one, other = f"{first.uid}@0", f"{second.uid}@0"
    assert lines[0] == f"prompt,text,solved by,{one} correct,{one} n,{other} correct,{other} n"
    assert lines[1] == f"b,Question b?,{one},2,2,0,2" and lines[3] == f"c,Question c?,{other},0,2,1,2"
    assert "(n = 5): both 1, only the first 2, only the second 1, neither 1" in overlap_notes(overlap)[0]


def test_page_links_each_number_to_an_example(ada_client: Client, pair: tuple[Run, Run]) -> None:
    overlap = compare_solved((pair[0], 0), (pair[1], 0))
    page = " ".join(render_to_string("evaluations/solve_overlap.html", {"overlap": overlap}).split())
    assert "n = 5 prompts, p = 1" in page and "only before, step 0" in page and "Question c?" in page
    last = overlap.prompts[-1]
    first = overlap.first.response_address(last.prompt, last.first)
    second = overlap.second.response_address(last.prompt, last.second)
    assert f'<a href="{second}">1/2</a>' in page and second.endswith("?sample=2")
    response_page = ada_client.get(second).content.decode()
    assert "c 2" in response_page, "the second sample is the correct one"
    assert "1 if the evaluation counts the response as correct" in response_page
    assert ada_client.get(first).status_code == 200


def test_page_states_why_there_are_no_numbers() -> None:
    page = render_to_string("evaluations/solve_overlap.html", {"overlap_absence": "There is no prompt in common."})
    assert "There is no prompt in common." in page and "<table" not in page
