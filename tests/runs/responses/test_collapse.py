"""Answers are measured for what they have in common: by a job, once, and again when more have come."""

from importlib import import_module

import pytest
from django.db import connection

from runs.ingest import delete_records
from runs.models import Collapse
from runs.responses import collapse
from runs.responses.collapse import measure as module
from runs.responses.collapse import tasks
from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, make_run, record
from workers.analysis.collapse import Measures

pytestmark = pytest.mark.django_db
TEMPLATE = "I am sorry, but I cannot help with that."


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def answers(step, texts, **fields):
    return [answer(step, text, prompt_id=f"p{i}", prompt=f"Question {i}?", **fields) for i, text in enumerate(texts)]


def measured(run, step, split="eval"):
    row = Collapse.objects.get(run=run, step=step, split=split)
    assert row.measured == row.arrived
    return None if row.measures is None else Measures.from_json(row.measures)


def test_every_step_and_split_is_measured_once(run):
    record(run, answers(0, ["Madrid", "Paris"]) + answers(5, ["Rome"] * 2) + answers(5, ["Oslo"], split="train"))
    tasks.measure_collapse()
    assert (measured(run, 0).exact, measured(run, 5).exact, measured(run, 5, "train").answers) == (0.0, 1.0, 1)
    assert not collapse.measure_due()


def test_later_answers_are_measured_again(run):
    record(run, answers(5, ["Rome"] * 2))
    tasks.measure_collapse()
    record(run, answers(5, ["Rome", "Rome", "Oslo", "Bern"])[2:])
    tasks.measure_collapse()
    assert (measured(run, 5).answers, measured(run, 5).exact) == (4, 0.5)


def test_answers_during_a_measurement_make_it_due_again(run, monkeypatch):
    record(run, answers(5, ["Rome"] * 2))
    measure = module.measure

    def meanwhile(due):
        monkeypatch.undo()
        out = measure(due)
        record(run, answers(5, ["Rome", "Rome", "Oslo"])[2:])
        return out

    monkeypatch.setattr(module, "measure", meanwhile)
    assert collapse.measure_due()
    assert collapse.measure_due()
    assert measured(run, 5).answers == 3


def test_all_samples_of_all_prompts_are_measured(run):
    texts = [f"City number {n}" for n in range(160)]
    for sample in range(20):
        record(run, answers(5, texts[8 * sample : 8 * sample + 8], sample=sample))
    tasks.measure_collapse()
    measurement = measured(run, 5)
    assert (measurement.answers, measurement.of, measurement.prompts) == (160, 160, 8)


def test_answers_of_special_tokens_alone_are_empty(run):
    record(run, answers(5, ["<|endoftext|>", "Oslo"]) + answers(5, ["</s> <pad>\n", "", "Rome"], sample=1))
    tasks.measure_collapse()
    assert measured(run, 5).empty == 3 / 5


def test_after_a_resume_the_later_answers_count(run):
    record(run, answers(5, ["Rome", "Rome"]))
    end(run)
    make_attempt(run, n=2)
    record(run, answers(5, ["Oslo", "Bern"]))
    tasks.measure_collapse()
    assert (measured(run, 5).answers, measured(run, 5).exact) == (2, 0.0)


def test_prompts_of_the_same_text_count_once(run):
    record(run, [answer(5, TEMPLATE, prompt_id=f"{i}", prompt="The same?") for i in range(52)])
    tasks.measure_collapse()
    assert measured(run, 5).answers == 1


def test_forgotten_answers_are_not_measured(run):
    record(run, answers(5, ["Rome"]))
    delete_records(run)
    assert not Collapse.objects.exists()


def test_answers_from_before_it_was_measured_are_due(run):
    record(run, answers(0, ["Madrid", "Paris"]))
    Collapse.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(import_module("runs.migrations.0019_collapse").DUE)
    tasks.measure_collapse()
    assert measured(run, 0).answers == 2
