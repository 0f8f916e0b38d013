"""The runs table as a page: the table that its address requests, with none, one, sixty and hundreds of runs."""

import gzip
import re
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Attempt, Run
from tests.cases import each_case
from tests.runs.compare.test_conditions import summary
from tests.runs.full_runs import evaluation, make_run, record

pytestmark = pytest.mark.django_db
ROW = re.compile(r'class="run-name"><a [^>]*>([^<]*)<')


def get(client, experiment, **query):
    response = client.get(experiment.get_absolute_url(), query)
    assert response.status_code == 200
    return response.content.decode()


def heads(page):
    """Return the titles of the columns."""
    return [title.strip() for title in re.findall(r"<th\s+scope=.col.[^>]*>\s*<a\s[^>]*>([^<▲▼]*)", page)]


@pytest.fixture
def three(experiment):
    runs = [make_run(experiment, "es-tiny", seed) for seed in range(2)] + [make_run(experiment, "grpo-tiny", 7)]
    for run, kl in zip(runs, (0.5, 0.1, 2.0), strict=True):
        summary(run, "kl", kl)
    return runs


def many(experiment, ada, count):
    """Create runs with an ended attempt and ten series each, of a hundred settings."""
    template = make_run(experiment, "es-tiny")
    cluster = template.attempts.get().cluster
    runs = []
    for i in range(count):
        config = template.config | {"es": template.config["es"] | {"sigma": i % 100 / 1000}}
        runs.append(Run(
            experiment=experiment, name=f"es-tiny seed {i}", preset="es-tiny", method="es", seed=i, config=config,
            state=("succeeded", "failed")[i % 2], created_by=ada,
        ))  # fmt: skip
    template.delete()
    runs = Run.objects.bulk_create(runs, batch_size=1000)
    Attempt.objects.bulk_create(
        [Attempt(run=r, n=1, key=f"esweb-{r.uid}-a1", cluster=cluster, state=r.state) for r in runs], batch_size=1000
    )
    keys = ["reward/mean", "accuracy/contains", "kl", *(f"train/x{k}" for k in range(7))]
    with connection.cursor() as sql:
        # Ten rows a run: by one statement in a tenth of the time.
        sql.execute(
            "INSERT INTO runs_series (run_id, key, points, last_step, last_value, min_value, max_value)"
            " SELECT id, key, 9, 60, seed / 7.0, -seed, seed FROM runs_run, unnest(%s::text[]) AS key"
            " WHERE id = ANY(%s)",
            [keys, [run.pk for run in runs]],
        )
        sql.execute("ANALYZE runs_run, runs_series, runs_attempt")


def test_the_columns_are_chosen_by_any_key_of_config_or_metrics(ada_client, experiment, three):
    page = get(ada_client, experiment, col=["es.sigma", "kl.max", "by", "created"])
    assert heads(page) == ["Run", "es.sigma", "KL max", "By", "Created"]
    assert re.search(r'data-label="es.sigma">0.01<', page)
    assert re.search(r'data-label="By">ada<', page)


def test_unknown_key_is_reported_with_similar_keys(ada_client, experiment, three):
    page = get(ada_client, experiment, col="es.sgima")
    assert "Unknown key &#x27;es.sgima&#x27;. Did you mean es.sigma" in page


@each_case(
    ("sort", "seeds"),
    [("kl", "1 0 7"), ("-kl", "7 0 1"), ("-es.sigma", "1 0 7"), ("seed", "0 1 7"), ("-created", "7 1 0")],
)
def test_the_table_sorts_by_any_key(ada_client, experiment, three, sort, seeds):
    page = get(ada_client, experiment, sort=sort)
    assert " ".join(name.rsplit(" ", 1)[1] for name in ROW.findall(page)) == seeds


def test_a_click_on_a_head_turns_the_order_and_keeps_the_rest(ada_client, experiment, three):
    page = get(ada_client, experiment, q="kl<1", sort="kl")
    assert f"?{urlencode({'q': 'kl<1', 'sort': '-kl'}, safe='<')}" in page.replace("&lt;", "<").replace("&amp;", "&")
    assert 'aria-sort="ascending"' in page


def test_query_filters_rows_and_marks_its_mistakes(ada_client, experiment, three):
    assert ROW.findall(get(ada_client, experiment, q="kl<1 seed:1")) == ["es-tiny seed 1"]
    page = get(ada_client, experiment, q="kl<1 <b>:1 state:fail")
    assert "<code>kl&lt;1 &lt;b&gt;:1 <mark>state:fail</mark></code>" in page or "<mark>&lt;b&gt;:1</mark>" in page
    assert "A key must precede" in page
    assert ROW.findall(page) == []
    assert "Fix the query to see runs." in page


def test_the_builder_writes_into_the_line(ada_client, experiment, three):
    sent = {"q": "kl<1", "sort": "kl", "key": "name", "op": "~", "value": "es tiny,x"}
    response = ada_client.get(experiment.get_absolute_url(), sent)
    assert response.status_code == 302
    page = ada_client.get(response["Location"])
    assert page.context["asked"].line == 'kl<1 name~"es tiny",x'
    assert page.context["asked"].order.word == "kl"


def test_each_term_can_be_taken_out(ada_client, experiment, three):
    query = ada_client.get(experiment.get_absolute_url(), {"q": "kl<1 seed:1 word"}).context["asked"]
    assert [term for term, _ in query.chips] == ["kl<1", "seed:1", "word"]
    gone = ada_client.get(experiment.get_absolute_url() + query.chips[1][1]).context["asked"]
    assert gone.line == "kl<1 word"


def test_columns_are_added_and_taken_out_by_the_builder(ada_client, experiment, three):
    sent = {"keep": "1", "col": ["state", "kl"], "add": "es.sigma kl"}
    response = ada_client.get(experiment.get_absolute_url(), sent)
    assert response["Location"].endswith("?col=state&col=kl&col=es.sigma")


def test_groups_print_n_and_mean_and_spread_and_lead_to_their_runs(ada_client, experiment, three):
    page = ada_client.get(experiment.get_absolute_url(), {"group": "recipe"})
    table = page.context["table"]
    assert [(g.names, g.row.n) for g in table.groups] == [(["es · es-tiny"], 2), (["grpo · grpo-tiny"], 1)]
    text = page.content.decode()
    assert "0.300 ± 0.283" in text
    assert "2 of 2 groups shown" in text
    inside = ada_client.get(experiment.get_absolute_url() + table.groups[0].address)
    assert sorted(row.run.seed for row in inside.context["table"].rows) == [0, 1]


@each_case("key", ["method", "es.sigma", "kl", "name", "state", "seed", "step", "by", "task.name"])
def test_every_groups_address_finds_its_runs(ada_client, experiment, three, key):
    table = ada_client.get(experiment.get_absolute_url(), {"group": key}).context["table"]
    assert sum(group.row.n for group in table.groups) == 3
    for group in table.groups:
        inside = ada_client.get(experiment.get_absolute_url() + group.address).context["table"]
        assert inside.total == group.row.n


def test_experiment_with_only_archived_runs_links_to_them(ada_client, experiment, three):
    for run in three:
        run.archived_at = run.created_at
        run.save()
    page = get(ada_client, experiment)
    assert "All runs are archived" in page
    assert "?q=archived:yes" in page


def test_a_name_is_text_and_never_html(ada_client, experiment):
    run = make_run(experiment)
    run.name, run.tags, run.note = "<script>x</script>", ["<b>t</b>"], "<i>n</i>"
    run.save()
    page = get(ada_client, experiment, col=["tag", "note"], q="script")
    assert "<script>x" not in page
    assert "<b>t" not in page
    assert "<i>n" not in page


def queries(client, experiment, **query):
    """Return the number of queries of a page after its first view, which stores the looks of its groups."""
    get(client, experiment, **query)
    with CaptureQueriesContext(connection) as captured:
        get(client, experiment, **query)
    return len(captured)


ADDRESSES = (
    {},
    {"q": "state:failed es.sigma>0.01 kl<300 name~seed"},
    {"sort": "-train/x3.max", "col": ["train/x3.max", "es.sigma", "tag", "by"]},
    {"sort": "es.sigma", "q": "seed:100.."},
    {"group": ["es.sigma", "state"]},
    {"group": ["by"]},
)


def test_hundreds_of_runs_need_a_constant_number_of_queries(ada_client, ada, experiment, monkeypatch):
    """A few runs are named in later queries. If there are more, the table is queried again."""
    monkeypatch.setattr("runs.compare.run_table.queries.FEW", 300)
    record(make_run(experiment), [evaluation(0, -40.0)])
    assert queries(ada_client, experiment) <= 22
    many(experiment, ada, 200)
    few = [queries(ada_client, experiment, **query) for query in ADDRESSES]
    assert max(few) <= 28
    many(experiment, ada, 200)
    assert [queries(ada_client, experiment, **query) for query in ADDRESSES] == few
    page = ada_client.get(reverse("experiment-runs", args=[experiment.pk]))
    assert "60 of 401 runs shown" in page.content.decode()
    assert len(gzip.compress(page.content)) < 20_000
    assert len(page.content) < 120_000
    following = ada_client.get(experiment.get_absolute_url() + page.context["table"].following)
    assert following.context["table"].row_count == 60
    assert not {r.pk for r in page.context["table"].runs} & {r.pk for r in following.context["table"].runs}


def test_default_columns_are_the_headline_metrics_of_the_task(ada_client, experiment):
    make_run(experiment, "es-safety-tiny")
    page = get(ada_client, experiment)
    titles = heads(page)
    assert {"Safe ratio", "Cost"} <= set(titles) and "Accuracy" not in titles
