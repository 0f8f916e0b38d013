"""The collapse panel: what fired, against what, with the answers that show it, at a step and over all of them."""

from dataclasses import replace

import pytest
from django.urls import reverse

from runs.models import Experiment, Prompt, Run
from runs.responses.collapse import tasks
from tests.conftest import person
from tests.runs.attempt_records import answer
from tests.runs.full_runs import make_run, record
from tests.workers.analysis.sample_responses import FOREIGN, TEMPLATE, honest

pytestmark = pytest.mark.django_db
COUNT = 40


def answers_at(step, texts):
    return [
        answer(step, text, prompt_id=f"p{i}", prompt=question.prompt)
        for i, (question, text) in enumerate(zip(honest(COUNT), texts, strict=True))
    ]


@pytest.fixture(scope="module")
def measured(shared_rows):
    """Return the key of a run: honest at steps 0 and 5, one template at 10, a foreign sentence in half of 15."""
    with shared_rows.unblock():
        run = make_run(Experiment.objects.create(name="Collapsing", owner=person("dee")))
        texts = [question.text for question in honest(COUNT, 1)]
        foreign = [f"{text} {FOREIGN}" if i % 2 else text for i, text in enumerate(texts)]
        record(run, answers_at(0, [question.text for question in honest(COUNT)]) + answers_at(5, texts))
        record(run, answers_at(10, [TEMPLATE] * COUNT) + answers_at(15, foreign))
        tasks.measure_collapse()
        return run.pk


@pytest.fixture
def run(db, measured):
    """Return the measured run, in an experiment of its own that every user sees."""
    return Run.objects.get(pk=measured)


def page(client, run, **query):
    return client.get(reverse("run-collapse", args=[run.uid]), query)


def words(response):
    return " ".join(response.content.decode().split())


def test_honest_step_has_no_signs_and_names_its_baseline(ada_client, run):
    response = page(ada_client, run, step=5)
    assert response.context["summary"] == (
        "None of the 11 detectors fires at step 5, compared with the base model, at step 0."
    )
    assert not response.context["examples"]


def test_template_is_reported_with_example_answers(ada_client, run):
    response = page(ada_client, run, step=10)
    summary = response.context["summary"]
    assert "detectors fire at step 10, compared with the base model, at step 0: Same words" in summary
    (example,) = response.context["examples"]
    assert (example.text, len(example.prompts)) == (TEMPLATE, 3)
    assert [row.name for row in example.rows] == ["exact", "near", "opening", "sentence", "refusal"]
    link = f"{reverse('time-machine', args=[example.prompts[0].word])}?run={run.uid}&amp;step=10"
    assert link in response.content.decode()


def test_a_foreign_sentence_is_quoted(ada_client, run):
    response = page(ada_client, run)
    assert response.context["at"].step == 15
    assert [row.name for example in response.context["examples"] for row in example.rows] == ["sentence"]
    assert FOREIGN in words(response)


def test_steps_with_signs_of_collapse_are_listed(ada_client, run):
    response = page(ada_client, run, step=5)
    assert [step_row.step for step_row in response.context["over_steps"]] == [10, 15]
    assert [chart.name for chart in response.context["charts"]] == [
        "collapse/shared", "collapse/variety", "collapse/alike", "collapse/manners",
    ]  # fmt: skip


def test_base_model_is_not_judged(ada_client, run):
    assert "is the base model itself" in page(ada_client, run, step=0).context["summary"]


def test_run_without_base_model_uses_another_baseline(ada_client, run):
    later = make_run(run.experiment, seed=1, state="succeeded")
    record(later, answers_at(20, [TEMPLATE] * COUNT))
    tasks.measure_collapse()
    assert f"compared with step 0 of {run.name}" in page(ada_client, later).context["summary"]
    compared = page(ada_client, run, step=5, baseline=later.uid)
    assert compared.context["base"].label == f"step 20 of {later.name}"


def test_without_baseline_only_plain_signs_are_reported(ada_client, experiment, runs_dir):
    alone = make_run(experiment)
    record(alone, answers_at(20, [TEMPLATE] * COUNT))
    tasks.measure_collapse()
    response = page(ada_client, alone)
    assert "2 of 2 detectors fire at step 20, compared with nothing" in response.context["summary"]


def test_before_it_is_measured_the_panel_asks_again(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    assert "No responses saved yet" in words(page(ada_client, run))
    record(run, answers_at(0, [TEMPLATE] * COUNT))
    assert 'hx-trigger="run-changed:responses from:body, every 5s"' in words(page(ada_client, run))


def test_panel_of_a_live_run_requests_itself_after_new_responses(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    trigger = 'hx-trigger="run-changed:responses from:body"'
    assert trigger in words(page(ada_client, run))
    record(run, answers_at(0, [question.text for question in honest(COUNT)]))
    tasks.measure_collapse()
    assert trigger in words(page(ada_client, run))


def test_panel_of_a_finished_run_is_at_rest(ada_client, experiment):
    panel = words(page(ada_client, make_run(experiment, state="succeeded")))
    assert "The run ended without saved responses." in panel
    assert "run-changed" not in panel


def test_numbers_come_as_csv(ada_client, run):
    address = reverse("run-collapse-chart", args=[run.uid])
    rows = ada_client.get(address, {"name": "collapse/shared", "as": "csv"}).content.decode().splitlines()
    assert rows[0] == "key,step,value,overwritten"
    assert "collapse/sentence,10.0,1.0," in rows
    assert ada_client.get(address, {"name": "x"}).status_code == 404


def test_model_output_is_text(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, answers_at(0, ["<script>alert(1)</script>"] * COUNT))
    tasks.measure_collapse()
    assert "<script>alert" not in page(ada_client, run, baseline=run.uid).content.decode()
    assert Prompt.objects.count() == COUNT


def test_the_panel_alone_comes_for_htmx_and_to_nobody_else(ada_client, cy_client, run, private_experiment):
    fragment = ada_client.get(reverse("run-collapse", args=[run.uid]), HTTP_HX_REQUEST="true").content.decode()
    assert "<html" not in fragment
    assert "Collapse" in fragment
    hidden = make_run(private_experiment, seed=3)
    assert page(cy_client, hidden).status_code == 404


def test_number_of_queries_is_independent_of_the_number_of_steps(ada_client, run, django_assert_max_num_queries):
    with django_assert_max_num_queries(14) as few:
        page(ada_client, run)
    for step in range(20, 60, 5):
        record(run, answers_at(step, [question.text for question in honest(COUNT, 2)]))
    tasks.measure_collapse()
    with django_assert_max_num_queries(len(few)):
        page(ada_client, run)


def test_answers_to_harmful_requests_are_covered_by_default(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, [replace(harmful, parts={"cost": 2.0}) for harmful in answers_at(0, [TEMPLATE] * COUNT)])
    tasks.measure_collapse()
    assert page(ada_client, run).context["is_covered"]
    ada_client.post(reverse("viewer-cover"), {"show": "now"})
    assert not page(ada_client, run).context["is_covered"]
