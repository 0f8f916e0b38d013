import pytest
from django.urls import reverse

from tests.runs.attempt_records import answer, make_attempt
from tests.runs.full_runs import end, make_run, record

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, [answer(0, "long and winding"), answer(0, "a sample", sample=1)])
    record(run, [answer(5, "Madrid"), answer(5, "", sample=1)])
    return run


def fragment(client, run, **query):
    response = client.get(reverse("run-responses", args=[run.uid]), query, HTTP_HX_REQUEST="true")
    assert response.status_code == 200
    return response


def test_the_last_step_is_shown_first(ada_client, run):
    text = fragment(ada_client, run).content.decode()
    assert "Madrid" in text
    assert "long and winding" not in text


def test_any_step_can_be_selected_by_address(ada_client, run):
    response = fragment(ada_client, run, step="0", asked="1")
    assert "long and winding" in response.content.decode()
    assert response["HX-Replace-Url"] == f"{reverse('run-responses', args=[run.uid])}?step=0"


def test_other_parameters_are_preserved(ada_client, run):
    response = ada_client.get(
        reverse("run-responses", args=[run.uid]), {"which": "greedy", "asked": "1"},
        HTTP_HX_REQUEST="true", HTTP_HX_CURRENT_URL="http://testserver/runs/x/responses/?x=tokens&step=0",
    )  # fmt: skip
    assert response["HX-Replace-Url"] == f"{reverse('run-responses', args=[run.uid])}?x=tokens&which=greedy"


def test_automatic_refresh_does_not_change_the_address(ada_client, run):
    assert "HX-Replace-Url" not in fragment(ada_client, run, step="0")


@pytest.mark.parametrize(
    ("filter_name", "seen", "unseen"), [("greedy", "long and winding", "a sample"), ("samples", "a sample", "long")]
)
def test_greedy_and_sampled_answers_can_be_filtered(ada_client, run, filter_name, seen, unseen):
    text = fragment(ada_client, run, step="0", which=filter_name).content.decode()
    assert seen in text
    assert unseen not in text


def test_an_empty_answer_is_not_invisible(ada_client, run):
    assert "empty response" in fragment(ada_client, run).content.decode()


def test_without_htmx_the_same_address_is_a_page(ada_client, run):
    text = ada_client.get(reverse("run-responses", args=[run.uid]), {"step": "0"}).content.decode()
    assert "<h1>" in text and "long and winding" in text


def test_old_address_of_a_step_leads_to_the_responses(ada_client, run):
    reply = ada_client.get(f"{run.get_absolute_url()}?step=0")
    assert reply["Location"] == f"{reverse('run-responses', args=[run.uid])}?step=0"


def test_prompts_come_in_pages(ada_client, run):
    record(run, [answer(5, "x", prompt_id=f"p{i}", prompt=f"Question {i}?") for i in range(12)])
    assert "1–8 of 13 prompts shown" in fragment(ada_client, run).content.decode()
    assert "9–13 of 13 prompts shown" in fragment(ada_client, run, prompts="2").content.decode()


def test_after_a_resume_the_later_evaluation_holds(ada_client, run):
    end(run)
    make_attempt(run, n=2)
    record(run, [answer(5, "Toledo"), answer(5, "", sample=1)])
    text = fragment(ada_client, run).content.decode()
    assert "Toledo" in text
    assert "expected: Madrid" in text
    assert '<span class="text">Madrid' not in text


def test_an_answer_is_held_against_the_base_models(ada_client, run):
    record(run, [answer(10, "long and short")])
    text = fragment(ada_client, run, step=10, against="base").content.decode()
    assert "long and <del>winding</del><ins>short</ins>" in text


def test_missing_base_answer_is_reported(ada_client, experiment, runs_dir):
    later = make_run(experiment, seed=1)
    record(later, [answer(5, "Madrid")])
    text = fragment(ada_client, later, step=5, against="base").content.decode()
    assert "This run has no response from the base model to this prompt." in text
    assert "Madrid" in text


def test_differences_are_escaped(ada_client, run):
    record(run, [answer(10, "<b>bold</b>")])
    text = fragment(ada_client, run, step=10, against="base").content.decode()
    assert "<ins>&lt;b&gt;bold&lt;/b&gt;</ins>" in text
