from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from runs.access import Scope, link_text
from runs.models import ChartLayout
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record
from tests.runs.sharing.test_pages import address, create_link
from workers.records import Metric

pytestmark = pytest.mark.django_db

OWN = "own:val/loss"
PINNED = {"run": "kl:pinned", "experiment": "kl:wide:pinned", "compare": "kl:wide:pinned"}


@pytest.fixture
def runs(experiment):
    out = [make_run(experiment, name, 0) for name in ("es-tiny", "grpo-tiny")]
    for run in out:
        record(run, [evaluation(0, -40), evaluation(5, -10)])
        record(run, [Metric(5, {"val/loss": 2.0, "system/cpu_cores": 1.0})])
    return out


@pytest.fixture
def share_addresses(runs, experiment):
    """Return the address of the form that shares each page."""
    return {
        "run": address("run", run=runs[0].uid),
        "experiment": address("experiment", experiment=experiment.pk),
        "compare": f"{address('compare', run=runs[0].uid)}&run={runs[1].uid}",
    }


@pytest.fixture
def stored(ada, experiment):
    """Store a layout of ada's for each page."""
    for page, pinned in PINNED.items():
        ChartLayout.objects.create(
            person=ada, page=page, cards=[pinned, OWN], experiment=experiment if page == "experiment" else None
        )


def placed_charts(response):
    """Return the charts of a shared page's grids, in order."""
    context = response.context
    if "own_charts" not in context:
        return context["placed_charts"]
    return [*context["own_charts"], *(placed for _, *parts in context["sections"] for part in parts for placed in part)]


@each_case("page", PINNED)
def test_link_shows_stored_layout_of_its_maker(ada_client, client, share_addresses, stored, page):
    link = create_link(ada_client, share_addresses[page])
    assert f"charts={PINNED[page]}&charts={OWN}" in link
    ChartLayout.objects.all().delete()
    placed = {placed.chart.name: placed for placed in placed_charts(client.get(link))}
    assert placed["kl"].is_pinned
    assert placed["kl"].size == ("small" if page == "run" else "wide")
    assert placed[OWN].is_own and not placed[OWN].chart.is_empty
    if page != "run":
        assert next(iter(placed)) == "kl"


@each_case("page", PINNED)
def test_link_shows_layout_of_the_address_before_the_stored_one(ada_client, client, share_addresses, stored, page):
    link = create_link(ada_client, f"{share_addresses[page]}&charts=reward:pinned")
    assert parse_qs(urlsplit(link).query)["charts"] == ["reward:pinned"]
    assert OWN not in client.get(link).content.decode()


@each_case("page", PINNED)
def test_link_without_layout_shows_the_default_to_every_reader(ada_client, share_addresses, ada, experiment, page):
    link = create_link(ada_client, share_addresses[page])
    ChartLayout.objects.create(
        person=ada, page=page, cards=[OWN], experiment=experiment if page == "experiment" else None
    )
    response = ada_client.get(link)
    assert not any(placed.is_own or placed.is_pinned or placed.can_change for placed in placed_charts(response))
    assert 'method="post"' not in response.content.decode()


@each_case("page", PINNED)
def test_chart_of_a_users_own_is_drawn_again_on_its_own(client, ada, runs, experiment, page):
    targets = {"run": [runs[0].uid], "experiment": [experiment.pk], "compare": [run.uid for run in runs]}
    where = reverse("shared-chart", args=[link_text(ada, Scope(page), targets[page], "day")])
    response = client.get(where, {"name": OWN, "as": "csv"})
    assert response.status_code == 200 and "2.0" in response.content.decode()


@pytest.mark.parametrize("page", ["run", "experiment"])
def test_chart_of_a_users_own_omits_the_sites_machines(client, ada, runs, experiment, page):
    own = "own:system/cpu_cores"
    text = link_text(ada, Scope(page), [runs[0].uid if page == "run" else experiment.pk], "day")
    response = client.get(reverse("shared", args=[text]), {"charts": own})
    assert own not in [placed.chart.name for placed in placed_charts(response)]
    assert client.get(reverse("shared-chart", args=[text]), {"name": own}).status_code == 404


def test_invalid_layout_in_a_link_is_reported(client, ada, runs):
    text = link_text(ada, Scope.RUN, [runs[0].uid], "day")
    page = client.get(reverse("shared", args=[text]), {"charts": "kl:huge"}).content.decode()
    assert "huge&#x27; is not a setting of a chart" in page


@pytest.mark.parametrize("page", ["run", "experiment"])
def test_page_links_to_sharing_with_its_settings(ada_client, client, runs, experiment, page):
    where = (runs[0] if page == "run" else experiment).get_absolute_url()
    query = "x=samples&smooth=0.6&q=method:es&group=es.sigma&group=by&charts=kl:wide"
    html = ada_client.get(f"{where}?{query}").content.decode()
    start = html.index(f'href="{reverse("share")}') + len('href="')
    link = create_link(ada_client, html[start : html.index('"', start)].replace("&amp;", "&"))
    params = parse_qs(urlsplit(link).query)
    expected = {"x": ["samples"], "smooth": ["0.6"], "charts": ["kl:wide"]}
    assert params == (expected if page == "run" else {**expected, "group": ["es.sigma"]})
    assert client.get(link).status_code == 200
