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


def said(step, texts):
    return [
        answer(step, text, prompt_id=f"p{i}", prompt=question.prompt)
        for i, (question, text) in enumerate(zip(honest(COUNT), texts, strict=True))
    ]


@pytest.fixture(scope="module")
def measured(shared_rows):
    """Return the key of a run: honest at steps 0 and 5, one template at 10, a foreign sentence in half of 15."""
    with shared_rows.unblock():
        run = make_run(Experiment.objects.create(name="Collapsing", owner=person("dee")))
        texts = [one.text for one in honest(COUNT, 1)]
        foreign = [f"{text} {FOREIGN}" if i % 2 else text for i, text in enumerate(texts)]
        record(run, said(0, [one.text for one in honest(COUNT)]) + said(5, texts))
        record(run, said(10, [TEMPLATE] * COUNT) + said(15, foreign))
        tasks.measure_collapse()
        return run.pk


@pytest.fixture
def run(db, measured):
    """The measured run, in an experiment of its own that everybody sees."""
    return Run.objects.get(pk=measured)


def page(client, run, **query):
    return client.get(reverse("run-collapse", args=[run.uid]), query)


def words(response):
    return " ".join(response.content.decode().split())


def test_an_honest_step_is_quiet_and_says_against_what(ada_client, run):
    response = page(ada_client, run, step=5)
    assert response.context["summary"] == (
        "Quiet: none of the 11 detectors fires at step 5, against the base model, at step 0."
    )
    assert not response.context["examples"]


def test_a_template_is_told_with_the_answers_that_show_it(ada_client, run):
    response = page(ada_client, run, step=10)
    assert "detectors fire at step 10, against the base model, at step 0: Same words" in response.context["summary"]
    (shown,) = response.context["examples"]
    assert (shown.text, len(shown.prompts)) == (TEMPLATE, 3)
    assert [row.name for row in shown.rows] == ["exact", "near", "opening", "sentence", "refusal"]
    link = f"{reverse('time-machine', args=[shown.prompts[0].word])}?run={run.uid}&amp;step=10"
    assert link in response.content.decode()


def test_a_foreign_sentence_is_quoted(ada_client, run):
    response = page(ada_client, run)
    assert response.context["at"].step == 15
    assert [row.name for shown in response.context["examples"] for row in shown.rows] == ["sentence"]
    assert FOREIGN in words(response)


def test_over_the_steps_it_is_said_where_anything_fired(ada_client, run):
    response = page(ada_client, run, step=5)
    assert [one.step for one in response.context["over_steps"]] == [10, 15]
    assert [chart.name for chart in response.context["charts"]] == [
        "collapse/shared", "collapse/variety", "collapse/alike", "collapse/manners",
    ]  # fmt: skip


def test_the_base_model_itself_is_not_judged(ada_client, run):
    assert "is the base model itself" in page(ada_client, run, step=0).context["summary"]


def test_a_run_without_a_base_model_takes_that_of_another_run_or_what_is_chosen(ada_client, run):
    later = make_run(run.experiment, seed=1, state="succeeded")
    record(later, said(20, [TEMPLATE] * COUNT))
    tasks.measure_collapse()
    assert f"against step 0 of {run.name}" in page(ada_client, later).context["summary"]
    chosen = page(ada_client, run, step=5, baseline=later.uid)
    assert chosen.context["base"].words == f"step 20 of {later.name}"


def test_with_nothing_to_hold_it_against_only_the_plainest_is_told(ada_client, experiment, runs_dir):
    alone = make_run(experiment)
    record(alone, said(20, [TEMPLATE] * COUNT))
    tasks.measure_collapse()
    response = page(ada_client, alone)
    assert "2 of 2 detectors fire at step 20, against nothing" in response.context["summary"]


def test_before_it_is_measured_the_panel_asks_again(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    assert "No answers kept yet" in words(page(ada_client, run))
    record(run, said(0, [TEMPLATE] * COUNT))
    assert 'hx-trigger="every 5s"' in words(page(ada_client, run))


def test_numbers_come_as_csv(ada_client, run):
    address = reverse("run-collapse-chart", args=[run.uid])
    rows = ada_client.get(address, {"name": "collapse/shared", "as": "csv"}).content.decode().splitlines()
    assert rows[0] == "key,step,value,overwritten"
    assert "collapse/sentence,10.0,1.0," in rows
    assert ada_client.get(address, {"name": "x"}).status_code == 404


def test_model_output_is_text(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, said(0, ["<script>alert(1)</script>"] * COUNT))
    tasks.measure_collapse()
    assert "<script>alert" not in page(ada_client, run, baseline=run.uid).content.decode()
    assert Prompt.objects.count() == COUNT


def test_the_panel_alone_comes_for_htmx_and_to_nobody_else(ada_client, cy_client, run, private_experiment):
    fragment = ada_client.get(reverse("run-collapse", args=[run.uid]), HTTP_HX_REQUEST="true").content.decode()
    assert "<html" not in fragment
    assert "Collapse" in fragment
    hidden = make_run(private_experiment, seed=3)
    assert page(cy_client, hidden).status_code == 404


def test_it_takes_as_many_queries_with_one_step_as_with_many(ada_client, run, django_assert_max_num_queries):
    with django_assert_max_num_queries(14) as few:
        page(ada_client, run)
    for step in range(20, 60, 5):
        record(run, said(step, [one.text for one in honest(COUNT, 2)]))
    tasks.measure_collapse()
    with django_assert_max_num_queries(len(few)):
        page(ada_client, run)


def test_answers_to_harmful_requests_are_covered_until_asked_for(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, [replace(one, parts={"cost": 2.0}) for one in said(0, [TEMPLATE] * COUNT)])
    tasks.measure_collapse()
    assert page(ada_client, run).context["is_covered"]
    ada_client.post(reverse("viewer-cover"), {"show": "now"})
    assert not page(ada_client, run).context["is_covered"]
