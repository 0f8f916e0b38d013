import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs.http.palette import MAX_ROWS
from runs.models import Experiment
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


def offered(client, words=""):
    answer = client.get("/palette/", {"q": words})
    assert answer.status_code == 200
    return answer.content.decode()


def test_palette_matches_every_word_of_a_name(ada_client, experiment):
    run = make_run(experiment, seed=7)
    assert experiment.get_absolute_url() in offered(ada_client, "conc")
    assert run.get_absolute_url() in offered(ada_client, "seed TINY")
    assert run.get_absolute_url() in offered(ada_client, run.uid)
    assert run.get_absolute_url() not in offered(ada_client, "seed nosuch")


@each_case(
    ("words", "there"),
    [("compare", "/compare/"), ("queue", "/queue/"), ("costs", "/costs/"), ("import", "/import/"), ("trash", "/bin/"),
     ("views", "/views/"), ("tokens", "/settings/tokens/"), ("api", "/api/v1/docs")],
)  # fmt: skip
def test_palette_lists_every_page_by_its_name(ada_client, words, there):
    assert f'href="{there}"' in offered(ada_client, words)


def test_before_anything_is_typed_experiments_and_runs_are_not_buried_under_pages(ada_client, experiment):
    before = offered(ada_client)
    assert before.count('<span class="quiet">page</span>') == 4
    assert experiment.get_absolute_url() in before


def test_pages_for_administrators_are_offered_to_them_alone(ada_client, admin_client):
    assert "/settings/people/" not in offered(ada_client, "users")
    assert "/settings/people/" in offered(admin_client, "users")


def test_palette_reports_no_match(ada_client):
    assert "matches “&lt;b&gt;”" in offered(ada_client, "<b>")


def test_private_rows_are_offered_to_nobody_else(cy_client, private_experiment):
    hidden = make_run(private_experiment)
    assert hidden.get_absolute_url() not in offered(cy_client)
    assert private_experiment.get_absolute_url() not in offered(cy_client, "secret")


def test_however_many_there_are_a_few_are_offered_by_as_many_queries(ada_client, ada, experiment):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            offered(ada_client, "o")
        return len(captured)

    before = queries()
    Experiment.objects.bulk_create(Experiment(name=f"Other {i}", owner=ada) for i in range(50))
    for seed in range(MAX_ROWS + 1):
        make_run(experiment, "grpo-micro", seed)
    assert queries() == before
    rows = offered(ada_client, "o")
    assert rows.count('<span class="quiet">experiment</span>') == MAX_ROWS
    assert rows.count('<span class="quiet">run</span>') == MAX_ROWS
