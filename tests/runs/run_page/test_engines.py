"""The panel of a run's engines: what each has done, and whether their weights are equal."""

import re

import pytest
from django.urls import reverse

from runs.ingest import ingest
from runs.models import EngineReport
from tests.cases import each_case
from tests.runs.attempt_records import NOON, make_attempt
from tests.runs.full_runs import end, make_run, record
from workers.records import Engine, Engines, Line, Member, Population

pytestmark = pytest.mark.django_db
HASH, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


def engine(number, members=0, *, state="ready", tokens=0, seconds=0.0, weights=HASH, at=None, restarts=0, node=""):
    """Return an engine of a report; without `at` its weights have not been compared."""
    compared_weights = weights if at is not None else ""
    return Engine(number, state, f"cuda:{number}", members, tokens, seconds, restarts, compared_weights, at, node)


def report_at(run, step, seconds, *engines, size=480):
    """Ingest a report that is written `seconds` after noon."""
    attempt = run.newest_attempt()
    file = attempt.record_files.filter(epoch=1).first()
    ingest(attempt, 1, [Line(file.next_seq if file else 0, NOON + seconds, Engines(step, size, engines))])


def panel(client, run):
    """Return the panel as its reader sees it: without tags, with one space between words."""
    text = client.get(reverse("run-weights", args=[run.uid]), HTTP_HX_REQUEST="true").content.decode()
    return " ".join(re.sub("<[^>]*>", " ", text).replace("\u202f", " ").replace("&#x27;", "'").split())


def test_a_run_without_engines_has_no_panel(ada_client, run):
    record(run, [Population(1, (Member(0, 1.0),))])
    assert panel(ada_client, run) == ""
    assert 'id="engines"' not in ada_client.get(run.get_absolute_url()).content.decode()


def test_each_engine_has_a_row_with_its_share_and_rates(ada_client, run):
    record(run, [Population(2, tuple(Member(seed, 1.0) for seed in range(30)))])
    report_at(run, 1, 10, engine(0, 20, tokens=1000, seconds=5.0, at=1), engine(1, 10, tokens=500, seconds=5.0, at=1))
    report_at(run, 2, 20, engine(0, 40, tokens=3000, seconds=13.0, at=2), engine(1, 20, tokens=900, seconds=7.0, at=2))
    text = panel(ada_client, run)
    assert "equal Both engines had equal weights after step 2." in text
    assert "0 training process ✓ ready cuda:0 40 67 % 3 000 250 80 % 0 abababababab… after step 2" in text
    assert "1 ✓ ready cuda:1 20 33 % 900 200 20 % 0" in text
    assert "In step 2: tokens/s counts" in text
    assert "The update of step 2 sent 480 bytes to each engine: 16 bytes per member." in text
    assert "add up" not in text
    assert 'id="engines"' in ada_client.get(reverse("run-weights", args=[run.uid])).content.decode()


def test_each_engine_has_its_node_if_a_report_names_one(ada_client, run):
    report_at(run, 1, 10, engine(0, 2), engine(1, 1))
    assert "Node" not in panel(ada_client, run)
    report_at(run, 2, 20, engine(0, 4, node="gpu1"), engine(1, 2, node="<b>gpu2"))
    text = panel(ada_client, run)
    assert "Engine State Node Device Members" in text
    assert "✓ ready gpu1 cuda:0 4" in text and "✓ ready &lt;b&gt;gpu2 cuda:1 2" in text


def test_node_is_shown_without_its_domain(ada_client, run):
    report_at(run, 1, 10, engine(0, 2, node="gpu1.cluster.example.org"), engine(1, 1, node="10.0.0.5"))
    page = ada_client.get(f"/runs/{run.uid}/weights/").content.decode()
    assert '<code title="gpu1.cluster.example.org">gpu1</code>' in page
    assert '<code title="10.0.0.5">10.0.0.5</code>' in page


def test_node_of_an_engine_from_an_earlier_version_is_unknown(ada_client, run):
    report_at(run, 1, 10, engine(0, 2, node="gpu1"), engine(1, 1, node="gpu2"))
    report = EngineReport.objects.get()
    del report.engines[1]["node"]
    report.save()
    assert "1 ✓ ready – cuda:1" in panel(ada_client, run)


def test_rates_are_over_the_last_ten_iterations(ada_client, run):
    for step in range(1, 16):
        report_at(run, step, 10 * step, engine(0, step, tokens=step**2, seconds=float(step)))
    text = panel(ada_client, run)
    assert "Over steps 6 to 15: tokens/s counts" in text
    assert "15 100 % 225 20 10 % 0" in text


def test_first_report_names_unknown_values(ada_client, run):
    report_at(run, 1, 10, engine(0, 2, tokens=100, seconds=4.0), engine(1, state="starting"))
    text = panel(ada_client, run)
    assert "not compared No weights have been compared yet." in text
    assert "0 training process ✓ ready cuda:0 2 100 % 100 25 – 0 –" in text
    assert "1 ● starting cuda:1 0 0 % 0 – – 0 –" in text
    assert "Up to step 1: tokens/s counts only the time spent generating responses." in text
    assert "Busy is available from the second report on." in text
    assert "The update of step 1 sent 480 bytes to each engine." in text


@pytest.mark.parametrize("factor", [1e3, -1, 1e300])
def test_share_of_time_is_unknown_if_a_report_has_no_time(ada_client, run, factor):
    for step in (1, 2):
        report_at(run, step, factor * (NOON + 10 * step) - NOON, engine(0, step, tokens=100 * step, seconds=4.0 * step))
    assert "ready cuda:0 2 100 % 200 25 – 0 –" in panel(ada_client, run)


def test_engines_that_have_answered_nothing_have_no_share(ada_client, run):
    report_at(run, 1, 10, engine(0), engine(1, state="given_up", restarts=3))
    assert "1 ✕ given up cuda:1 0 – 0 – – 3 –" in panel(ada_client, run)


def test_totals_add_up_attempts_and_epochs(ada_client, run):
    report_at(run, 1, 10, engine(0, 5, tokens=50), engine(1, 4, tokens=40, restarts=1), engine(2, 3, tokens=30))
    report_at(run, 2, 20, engine(0, 10, tokens=100), engine(1, 8, tokens=80, restarts=1), engine(2, 6, tokens=60))
    ingest(run.newest_attempt(), 2, [Line(0, NOON + 25, Engines(1, 0, (engine(0, 100), engine(1, 100))))])
    end(run)
    make_attempt(run, n=2)
    report_at(run, 2, 30, engine(0, 40, tokens=7), engine(1, 36, tokens=5, restarts=2))
    text = panel(ada_client, run)
    assert "0 training process ✓ ready cuda:0 150 50 % 107" in text
    assert "1 ✓ ready cuda:1 144 48 % 85 – – 3" in text
    assert "2 ○ not in use – 6 2 % 60 – – 0 –" in text
    assert "Members, tokens and restarts are sums over all 3 starts of the training." in text


AGREEMENTS = {
    "all": ((engine(0, at=40), engine(1, at=40), engine(2, at=40)), "All 3 engines had equal weights after step 40."),
    "one differs": (
        (engine(0, at=12), engine(1, at=12, weights=OTHER), engine(2, at=12)),
        "Engine 1's weights differ from engine 0's after step 12.",
    ),
    "two differ": (
        (engine(0, at=12), engine(1, at=12, weights=OTHER), engine(2, at=12, weights=OTHER)),
        "The weights of engines 1 and 2 differ from engine 0's after step 12.",
    ),
    "one was not compared": (
        (engine(0, at=12), engine(1, state="starting"), engine(2, at=12)),
        "Engines 0 and 2 had equal weights after step 12; engine 1 was not compared then.",
    ),
    "one was started again since": (
        (engine(0, at=12), engine(1, at=15, weights=OTHER), engine(2, at=12)),
        "Engines 0 and 2 had equal weights after step 12; engine 1 was not compared then.",
    ),
    "the only other one was started again since": (
        (engine(0, at=12), engine(1, at=15, weights=OTHER)),
        "After step 12 no engine was compared with engine 0.",
    ),
    "none": ((engine(0), engine(1)), "No weights have been compared yet."),
    "only one": ((engine(0, at=12), engine(1)), "No weights have been compared yet."),
}


@each_case("name", AGREEMENTS)
def test_summary_names_engines_with_equal_weights(ada_client, run, name):
    engines, sentence = AGREEMENTS[name]
    report_at(run, 40, 10, *engines)
    assert sentence in panel(ada_client, run)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (OTHER, "Engine 2's weights differ from engine 0's after step 12."),
        (HASH, "Engines 0 and 1 had equal weights after step 20; engine 2 was not compared then."),
    ],
)
def test_lost_engine_is_compared_with_the_weights_of_its_step(ada_client, run, weights, sentence):
    lost = engine(2, at=12, weights=weights, state="given_up")
    report_at(run, 11, 10, engine(0, at=11, weights=OTHER), engine(1, at=11, weights=OTHER))
    report_at(run, 13, 20, engine(0, at=12), engine(1, at=12), lost)
    report_at(run, 20, 30, engine(0, at=20, weights="ef"), engine(1, at=20, weights="ef"), lost)
    assert sentence in panel(ada_client, run)
