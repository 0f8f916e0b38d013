"""Stored responses get their gold measure: at insertion, and those of earlier versions from the migration."""

import pytest

from runs.ingest import ingest
from runs.ingest.right_backfill import BATCH, fill_right
from runs.models import Response
from tests.runs.attempt_records import answer, lines, make_attempt, make_run

RESPONSES = [
    answer(0, text="It is Paris.", prompt="What is the capital of France?", target="Paris"),
    answer(1, text="It isn't Paris.", prompt="What is the capital of France?", target="Paris"),
    answer(2, text="Paris", prompt="What is the capital of France?", target=""),
    answer(3, text="It isn't Paris.", prompt="A puzzle", target="", parts={"right": 1.0}),
    answer(4, text="", prompt="A puzzle", target="Paris", parts={"contains": 0.0, "no_text": 1.0}),
]
VERDICTS = [True, False, None, True, None]


def store(experiment, config, responses):
    attempt = make_attempt(make_run(experiment))
    attempt.run.config = config
    attempt.run.save()
    ingest(attempt, 0, lines(responses), offset=1)
    return attempt


def verdicts():
    return list(Response.objects.order_by("seq").values_list("is_right", flat=True))


def test_right_answer_is_stored_with_the_response(experiment):
    store(experiment, {}, RESPONSES)

    assert verdicts() == VERDICTS


def test_task_with_an_exact_rule_is_read_by_its_part(experiment):
    prior = {"task": {"name": "conciseness"}, "evaluate": {"prior_tasks": [{"name": "countdown"}]}}
    expression = {"text": "<answer>7 - 5 + 2</answer>", "prompt": "Use 7, 5 and 2 to make 4.", "target": "4"}

    store(experiment, {"task": {"name": "countdown"}}, [
        answer(0, **expression, parts={"contains": 1.0}), answer(1, **expression, parts={}),
    ])  # fmt: skip
    assert verdicts() == [True, None]
    Response.objects.all().delete()
    store(experiment, prior, [answer(0, **expression, parts={"contains": 1.0}, categories=("countdown",))])
    assert verdicts() == [True]


@pytest.mark.django_db
def test_backfill_equals_insertion_and_changes_nothing_else(experiment):
    store(experiment, {"task": {"name": "conciseness"}}, RESPONSES)
    before = list(Response.objects.order_by("seq").values("text", "parts", "reward", "is_right", "text_key"))
    Response.objects.update(is_right=None)

    reports = []
    assert fill_right(report=reports.append) == sum(verdict is not None for verdict in VERDICTS)
    assert list(Response.objects.order_by("seq").values("text", "parts", "reward", "is_right", "text_key")) == before
    assert reports == [3]
    assert fill_right() == 0


def test_backfill_spans_batches(experiment):
    store(
        experiment, {}, [answer(n, sample=n, text="Paris", prompt="Capital?", target="Paris") for n in range(BATCH + 3)]
    )
    Response.objects.update(is_right=None)

    assert fill_right() == BATCH + 3
    assert not Response.objects.exclude(is_right=True).exists()
