"""One prompt through all steps and methods: the answers at a step, and their changes since another."""

import pytest
from django.urls import reverse

from runs.models import Prompt
from tests.cases import each_case
from tests.runs.attempt_records import answer
from tests.runs.full_runs import make_run, record

pytestmark = pytest.mark.django_db


@pytest.fixture
def es(experiment, runs_dir):
    run = make_run(experiment)
    record(run, [answer(0, "It is the city of Madrid"), answer(5, "It is the town of Madrid", reward=-0.5)])
    record(run, [answer(10, "It is the town of Madrid"), *(answer(step, "sampled", sample=1) for step in (0, 5, 10))])
    return run


@pytest.fixture
def grpo(experiment, runs_dir):
    run = make_run(experiment, "grpo-tiny")
    record(run, [answer(0, "It is the city of Madrid"), answer(8, "<b>no</b>")])
    return run


def page(client, run, **query):
    prompt = Prompt.objects.get(name="spain")
    return client.get(reverse("time-machine", args=[prompt.word]), {"run": run.uid, **query})


def words(response):
    return " ".join(response.content.decode().split())


def test_other_methods_of_the_experiment_are_displayed(ada_client, es, grpo):
    response = page(ada_client, es)
    assert response.context["chosen"] == [es.uid, grpo.uid]
    assert response.context["steps"] == [0, 5, 8, 10]


def test_step_shows_the_last_answer_of_each_run(ada_client, es, grpo):
    moments = page(ada_client, es, step=8).context["moments"]
    assert [(m.answer.step, m.answer.text) for m in moments] == [(5, "It is the town of Madrid"), (8, "<b>no</b>")]


def test_changes_since_the_previous_step_are_marked(ada_client, es):
    assert "It is the <del>city </del><ins>town </ins>of Madrid" in words(page(ada_client, es, step=5))
    assert "<ins>" not in words(page(ada_client, es, step=10)).split('id="moments"')[1]


def test_answer_can_be_compared_with_the_first_step_or_nothing(ada_client, es):
    assert "<ins>town </ins>" in words(page(ada_client, es, step=10, against="base"))
    assert "<ins>town" not in words(page(ada_client, es, step=5, against="nothing"))


def test_an_answer_with_hardly_a_word_in_common_is_not_struck_through(ada_client, es, grpo):
    response = page(ada_client, grpo, step=8)
    assert response.context["moments"][0].is_new
    assert "&lt;b&gt;no&lt;/b&gt;" in response.content.decode()
    assert "<del>It is" not in words(response)


def test_equal_answers_are_one_stretch_of_steps(ada_client, es):
    ((_, stretches),) = page(ada_client, es, alone=1).context["stretches"]
    assert [(stretch.first, stretch.last) for stretch in stretches] == [(0, 0), (5, 10)]


def test_samples_can_be_followed_too(ada_client, es):
    assert page(ada_client, es, sample=1, alone=1).context["moments"][0].answer.text == "sampled"


def test_rewards_come_as_csv(ada_client, es, grpo):
    prompt = Prompt.objects.get(name="spain")
    address = reverse("time-machine-chart", args=[prompt.word])
    rows = ada_client.get(address, {"run": es.uid, "alone": 1, "as": "csv"}).content.decode().splitlines()
    assert rows[0] == "letter,run,group,seed,step,value"
    assert [row.split(",")[-2:] for row in rows[1:]] == [["0.0", "-1.0"], ["5.0", "-0.5"], ["10.0", "-1.0"]]


def test_the_answers_alone_come_for_htmx(ada_client, es):
    prompt = Prompt.objects.get(name="spain")
    response = ada_client.get(reverse("time-machine", args=[prompt.word]), {"step": "5"}, HTTP_HX_REQUEST="true")
    assert "<html" not in response.content.decode()
    assert "<ins>town </ins>" in words(response)


def test_a_response_leads_here(ada_client, es):
    prompt = Prompt.objects.get(name="spain")
    text = ada_client.get(reverse("run-responses", args=[es.uid])).content.decode()
    assert f"{reverse('time-machine', args=[prompt.word])}?run={es.uid}&amp;step=10" in text


def test_hidden_runs_are_not_offered(cy_client, es, private_experiment):
    hidden = make_run(private_experiment, "grpo-tiny", seed=4)
    record(hidden, [answer(0, "secret"), answer(0, "secret too", prompt_id="x", prompt="Only there?")])
    assert "secret" not in page(cy_client, hidden).content.decode()
    only_there = Prompt.objects.get(name="x")
    assert cy_client.get(reverse("time-machine", args=[only_there.word])).status_code == 404


def test_number_of_queries_is_independent_of_the_number_of_runs(
    ada_client, experiment, es, django_assert_max_num_queries
):
    page(ada_client, es)
    with django_assert_max_num_queries(12) as few:
        page(ada_client, es)
    for seed in range(1, 4):
        record(make_run(experiment, "grpo-tiny", seed), [answer(0, "x"), answer(5, "y")])
    uids = list(experiment.runs.values_list("uid", flat=True))
    prompt = Prompt.objects.get(name="spain")
    with django_assert_max_num_queries(len(few)):
        ada_client.get(reverse("time-machine", args=[prompt.word]), {"run": uids})


def test_answers_to_harmful_requests_are_covered_by_default(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, [answer(0, "Do it like this", parts={"cost": 2.0})])
    assert page(ada_client, run).context["is_covered"]
    ada_client.post(reverse("viewer-cover"), {"show": "now"})
    assert not page(ada_client, run).context["is_covered"]


@each_case(("step", "displayed_step"), [("7", 5), ("0", 0), ("99", 10), ("", 10)])
def test_between_two_evaluations_the_one_before_is_shown(ada_client, es, step, displayed_step):
    assert page(ada_client, es, step=step, alone=1).context["step"] == displayed_step


@pytest.mark.parametrize("step", ["soon", "9" * 5000])
def test_invalid_step_is_answered_with_the_existing_steps(ada_client, es, step):
    answer = page(ada_client, es, step=step, alone=1)
    assert answer.status_code == 404 and "step must be one of 0, 5, 10" in answer.content.decode()


def test_missing_prompt_returns_404(ada_client, es):
    assert ada_client.get(reverse("time-machine", args=["no-such"])).status_code == 404
