import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.ingest import ingest
from runs.models import AttemptEvent
from tests.runs import checkpoint_files
from tests.runs.attempt_records import NOON, make_attempt
from tests.runs.full_runs import a_bit_of_everything, end, make_run, record
from workers.records import Line, Metric

pytestmark = pytest.mark.django_db
PARTS = ("run", "run-state", "run-past", "run-curves", "run-weights", "run-config", "run-log")


@pytest.fixture
def run(experiment, runs_dir):
    return make_run(experiment)


@pytest.fixture
def recorded(run):
    record(run, a_bit_of_everything())
    return run


def page(client, run, route="run"):
    response = client.get(reverse(route, args=[run.uid]))
    assert response.status_code == 200
    return response.content.decode()


def test_run_that_has_not_begun_shows_placeholders(ada_client, run):
    placeholders = {
        "run": "Nothing measured yet", "run-curves": "Nothing measured yet", "run-responses": "No responses saved yet",
        "run-weights": "No iteration yet", "run-log": "The log is empty.", "run-checkpoints": "No checkpoint saved yet",
    }  # fmt: skip
    assert {route: words in page(ada_client, run, route) for route, words in placeholders.items()} == dict.fromkeys(
        placeholders, True
    )


def test_page_describes_state_reward_and_kl(ada_client, recorded):
    text = page(ada_client, recorded)
    summary = "es-tiny seed 0: running, step 5 of 60. Held-out reward −40.9, from −45.9."
    assert summary in text
    assert "KL, nats per token 0.0500, from 0." in text


def test_reason_of_an_ended_run_is_displayed(ada_client, run):
    attempt = run.newest_attempt()
    attempt.reason = "RewardFailed: prompt p1"
    attempt.state = run.state = "failed"
    attempt.save()
    run.save()
    AttemptEvent.objects.create(attempt=attempt, to_state="failed", why="exit code 1", level="error")
    assert "RewardFailed: prompt p1" in page(ada_client, run)
    assert "exit code 1" in page(ada_client, run, "run-log")


def test_curves_population_answers_checkpoints_and_config_are_there(ada_client, recorded):
    curves = page(ada_client, recorded, "run-curves")
    for chart in ("chart-reward", "chart-kl", "chart-train-reward", "chart-es-dead"):
        assert f'id="{chart}"' in curves
    population = page(ada_client, recorded, "run-weights")
    assert 'id="chart-population"' in population and "spread is dead" in population
    assert "checkpoints/step-000005" in page(ada_client, recorded, "run-checkpoints")
    assert "checkpoint_every" in page(ada_client, recorded, "run-config")


def test_model_output_is_shown_as_text(ada_client, recorded):
    text = page(ada_client, recorded, "run-responses")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert(1)" not in text


def test_the_config_can_be_copied_as_it_is(ada_client, recorded):
    text = page(ada_client, recorded, "run-config")
    config_text = re.search(r'id="config-json"[^>]*>(.*?)</pre>', text, re.S)[1].replace("&quot;", '"')
    assert json.loads(config_text) == recorded.config


def test_a_chart_of_the_run_is_also_csv(ada_client, recorded):
    address = reverse("run-chart", args=[recorded.uid])
    text = ada_client.get(address, {"name": "train/reward", "as": "csv"}).content.decode()
    assert text.splitlines()[:2] == ["key,step,value,overwritten", "train/reward/mean,0.0,-40.0,"]
    text = ada_client.get(address, {"name": "population", "as": "csv"}).content.decode()
    assert text.splitlines()[1] == "0,2,-41.0,-42.0,-40.0,1.0,0: 0; 1: 1"


def test_unknown_chart_returns_404(ada_client, recorded):
    assert ada_client.get(reverse("run-chart", args=[recorded.uid]), {"name": "nosuch"}).status_code == 404


def test_overwritten_points_are_grey(ada_client, recorded):
    end(recorded)
    make_attempt(recorded, n=2)
    record(recorded, [Metric(5, {"kl": 0.9})])
    text = page(ada_client, recorded, "run-curves")
    assert "1 point was overwritten by a resume (grey)." in text


def test_a_key_that_nobody_foresaw_gets_its_chart(ada_client, recorded):
    record(recorded, [Metric(1, {"my/own/thing": 3.0})])
    text = page(ada_client, recorded, "run-curves")
    assert "chart-my-own-thing" in text


def test_strangers_find_nothing_of_what_is_private(cy_client, ada_client, private_experiment, runs_dir):
    hidden = make_run(private_experiment)
    record(hidden, a_bit_of_everything())
    names = (*PARTS, "run-chart", "run-responses", "run-log-file")
    for name in names:
        assert cy_client.get(reverse(name, args=[hidden.uid]), {"name": "kl"}).status_code == 404, name
    hidden.newest_attempt().directory.mkdir(parents=True)
    (hidden.newest_attempt().directory / "log.txt").write_text("x")
    for name in names:
        reply = ada_client.get(reverse(name, args=[hidden.uid]), {"name": "kl"})
        assert reply.status_code in (200, 302), name
        checkpoint_files.close(reply)


def test_the_number_of_queries_does_not_grow_with_what_a_run_wrote(ada_client, run):
    record(run, a_bit_of_everything((0,)))

    def queries(name):
        with CaptureQueriesContext(connection) as captured:
            address = reverse(name, args=[run.uid])
            assert ada_client.get(address, headers={"hx-request": "true"}).status_code == 200
        return len(captured)

    before = {name: queries(name) for name in PARTS}
    for i in range(1, 6):
        end(run)
        make_attempt(run, n=i + 1)
        record(run, a_bit_of_everything((5 * i, 5 * i + 1)))
    assert {name: queries(name) for name in PARTS} == before
    assert max(before.values()) <= 32


def test_machine_usage_without_times_is_plotted_along_steps(ada_client, recorded):
    usage = [Line(seq, NOON * 1e3, Metric(seq, {"system/cpu_cores": 1.0 + seq})) for seq in range(2)]
    ingest(recorded.newest_attempt(), 2, usage)
    assert 'id="chart-system-cpu"' in page(ada_client, recorded, "run-curves")
    address = reverse("run-chart", args=[recorded.uid])
    rows = ada_client.get(address, {"name": "system/cpu", "as": "csv"}).content.decode().splitlines()
    assert [row.split(",")[:3] for row in rows] == [
        ["key", "step", "value"], ["system/cpu_cores", "0.0", "1.0"], ["system/cpu_cores", "1.0", "2.0"],
    ]  # fmt: skip


def test_machine_usage_is_plotted_along_time(ada_client, recorded):
    record(recorded, [Metric(5, {"system/cpu_cores": 1.0 + look, "system/gpu0/busy": 0.5}) for look in range(3)])
    text = page(ada_client, recorded, "run-curves")
    assert 'id="chart-system-cpu"' in text and 'id="chart-system-gpu-busy"' in text
    address = reverse("run-chart", args=[recorded.uid])
    rows = ada_client.get(address, {"name": "system/cpu", "as": "csv"}).content.decode().splitlines()
    assert rows[0] == "key,relative,value,overwritten"
    assert [row.split(",")[2:] for row in rows[1:]] == [["1.0", ""], ["2.0", ""], ["3.0", ""]]
    assert "step 5 of 60" in text


def test_section_of_the_machine_states_the_share_of_a_gpu(ada_client, recorded):
    record(recorded, [Metric(5, {"system/cpu_cores": 1.0, "system/gpu0/busy": 0.5})])
    sharing = "The run has 0.07 of a GPU, which other runs may share. Charts of the GPU count all programs on it."
    assert "of a GPU" not in page(ada_client, recorded, "run-curves")
    recorded.config["compute"] |= {"gpus": "auto"}
    recorded.save()
    assert "part of a GPU (auto)" in page(ada_client, recorded)
    recorded.attempts.update(gpu_share=0.07)
    assert sharing in page(ada_client, recorded, "run-curves")
    assert "0.07 of a GPU" in page(ada_client, recorded)


def test_page_of_metrics_without_times_offers_the_step_as_axis(ada_client, run):
    ingest(run.newest_attempt(), 2, [Line(0, NOON * 1e9, Metric(1, {"reward/mean": 1.0}))])
    for route in ("run", "run-curves"):
        for x in ("wall", "relative"):
            text = ada_client.get(reverse(route, args=[run.uid]), {"x": x}).content.decode()
            assert "No values along this x axis" in text and "Nothing measured yet" not in text
            assert "Records without a time in Unix seconds are left out." in text
        assert 'id="chart-reward"' in page(ada_client, run, route)
