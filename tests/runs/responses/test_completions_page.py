"""The page of training completions: groups of a step with advantages, and why completions were discarded."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Prompt, Response
from runs.responses import judgeable_runs
from runs.responses.completions import FILTERS, GROUPS_PER_PAGE, MAX_MEMBERS
from tests.runs.attempt_records import answer
from tests.runs.full_runs import end, make_run, record

pytestmark = pytest.mark.django_db
MANY = 10_000


def completion(step: int, group: int, sample: int, advantage: float, *reasons: str, **fields: Any) -> Any:
    parts = {"group": float(group), "advantage": advantage, "log_prob": -1.25}
    parts |= {f"discarded/{reason}": 1.0 for reason in reasons}
    values = {"split": "train", "prompt_id": f"p{group}", "prompt": f"Question {group}?", "sample": sample}
    values |= {"parts": parts | fields.pop("parts", {})}
    return answer(step, f"text {step}.{group}.{sample}", **(values | fields))


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment, "grpo-tiny")
    record(run, [answer(0, "held-out text"), answer(10, "held-out text")])
    return run


def page(client, run, **query):
    return client.get(reverse("run-completions", args=[run.uid]), query)


def words(response):
    return " ".join(response.content.decode().split())


def texts(response):
    return [[c.response.text for c in group.completions] for group in response.context["groups"]]


def count_queries(client, run, **query):
    with CaptureQueriesContext(connection) as queries:
        assert page(client, run, **query).status_code == 200
    return len(queries)


def test_run_without_completions_names_the_setting(ada_client, run):
    text = words(page(ada_client, run))
    assert "No training completions" in text
    assert "grpo.completions_every" in text
    assert "held-out text" not in text


def test_single_completion(ada_client, run):
    record(run, [completion(10, 0, 0, 0.75)])
    response = page(ada_client, run)
    text = words(response)
    assert texts(response) == [["text 10.0.0"]]
    assert "1 completion, 0 discarded" in text
    assert "+0.75" in text and "−1.25" in text
    assert "Question 0?" in text and "expected: Madrid" in text
    assert "held-out text" not in text


def test_groups_are_ordered_by_advantage(ada_client, run):
    record(run, [completion(10, g, s, (-1.0) ** s * (s + 1)) for g in (0, 1) for s in range(4)])
    assert texts(page(ada_client, run)) == [[f"text 10.{g}.{s}" for s in (2, 0, 1, 3)] for g in (0, 1)]


def test_groups_of_the_same_prompt_stay_apart(ada_client, run):
    same = {"prompt_id": "same", "prompt": "Same?"}
    record(run, [completion(10, g, 2 * g + s, -s, **same) for g in (0, 1) for s in (0, 1)])
    assert texts(page(ada_client, run)) == [["text 10.0.0", "text 10.0.1"], ["text 10.1.2", "text 10.1.3"]]


def test_last_step_is_first_and_others_can_be_selected(ada_client, run):
    record(run, [completion(step, 0, 0, 0.0) for step in (10, 20)])
    assert page(ada_client, run).context["step"] == 20
    assert texts(page(ada_client, run, step=10)) == [["text 10.0.0"]]
    refused = page(ada_client, run, step=15)
    assert refused.status_code == 404
    assert "step must be one of 10, 20" in refused.content.decode()


def test_discarded_completions_have_reasons_in_words(ada_client, run):
    record(run, [completion(10, 0, s, 0.0, "zero_variance") for s in (0, 1)])
    record(run, [completion(10, 1, 0, 0.5), completion(10, 1, 1, -0.5, "truncated", "off_policy")])
    record(run, [completion(10, 2, 0, 0.5, "importance_ratio"), completion(10, 2, 1, -0.5)])
    record(run, [completion(10, 3, 0, 0.5), completion(10, 3, 1, -0.5)])
    response = page(ada_client, run)
    text = words(response)
    assert "8 completions, 4 discarded" in text
    assert "2 × all rewards of the group are equal" in text
    assert "discarded: cut off at the maximum length" in text
    assert "discarded: too far from the policy that sampled it" in text
    assert "discarded: importance ratio outside its limits" in text
    assert [g.number for g in page(ada_client, run, show="discarded").context["groups"]] == [0, 1, 2]
    assert [g.number for g in page(ada_client, run, show="used").context["groups"]] == [3]


def test_unknown_filter_names_the_choices(ada_client, run):
    response = page(ada_client, run, show="some")
    assert response.status_code == 404
    assert f"show must be one of {', '.join(FILTERS)}" in response.content.decode()


def test_completions_without_group_are_grouped_by_prompt(ada_client, run):
    record(run, [answer(10, f"own {n}", split="train", sample=n, prompt_id="own") for n in range(2)])
    (group,) = page(ada_client, run).context["groups"]
    assert (group.number, group.n) == (None, 2)


def test_completions_of_repeated_step_replace_the_first(ada_client, run):
    record(run, [completion(10, 0, 0, 0.5)])
    end(run)
    attempt = run.attempts.create(n=2, key="again", cluster=run.newest_attempt().cluster, state="running")
    assert run.newest_attempt() == attempt
    record(run, [completion(10, 0, 0, -0.5)])
    assert "−0.5" in words(page(ada_client, run))
    assert page(ada_client, run).context["total"] == 1


def test_cost_covers_the_texts(ada_client, run):
    record(run, [completion(10, 0, 0, 0.5, parts={"cost": 1.0})])
    assert page(ada_client, run).context["is_covered"]


def test_large_group_shows_the_highest_advantages(ada_client, run):
    record(run, [completion(10, 0, s, float(s)) for s in range(MAX_MEMBERS + 5)])
    response = page(ada_client, run)
    assert texts(response)[0][0] == f"text 10.0.{MAX_MEMBERS + 4}"
    assert len(texts(response)[0]) == MAX_MEMBERS
    assert "5 more completions with lower advantages" in words(response)


def test_number_of_queries_is_independent_of_the_number_of_completions(ada_client, run):
    record(run, [completion(10, 0, 0, 0.5)])
    few = count_queries(ada_client, run)
    first = Response.objects.get(split="train")
    prompt = first.prompt_id
    Response.objects.bulk_create(
        Response(
            run=run, attempt_id=first.attempt_id, epoch=9, seq=n, step=20 + n // 5000, split="train", prompt_id=prompt,
            sample=n, text=f"many {n}", tokens=3, reward=0.0, parts={"group": n // 8, "advantage": -float(n % 8)},
        )
        for n in range(MANY)
    )  # fmt: skip
    assert count_queries(ada_client, run) == few
    response = page(ada_client, run, step=21, page=3)
    assert len(response.context["groups"]) == GROUPS_PER_PAGE
    assert response.context["total"] == MANY // 2
    assert len(response.content) < 200_000


def test_stranger_sees_no_completions_of_hidden_run(client, run):
    assert page(client, run).status_code in (302, 404)


def test_held_out_pages_leave_completions_out(ada_client, run):
    record(run, [completion(30, 0, 0, 0.5), completion(30, 1, 0, 0.5, prompt_id="spain", prompt="Capital of Spain?")])
    spain = Prompt.objects.get(name="spain")
    history = ada_client.get(reverse("time-machine", args=[spain.word]), {"run": run.uid})
    assert history.context["steps"] == [0, 10]
    only_trained = Prompt.objects.get(name="p0")
    assert ada_client.get(reverse("time-machine", args=[only_trained.word])).status_code == 404
    assert "text 30" not in words(ada_client.get(reverse("viewer"), {"run": run.uid, "samples": "all"}))
    responses = ada_client.get(reverse("run-responses", args=[run.uid]))
    assert [e.step for e in responses.context["evaluations"]] == [0, 10]
    assert responses.context["has_completions"]


def test_run_with_completions_alone_cannot_be_judged(experiment, runs_dir):
    run = make_run(experiment, "grpo-tiny")
    record(run, [completion(10, 0, 0, 0.5)])
    assert not judgeable_runs(type(run).objects.filter(pk=run.pk)).exists()
