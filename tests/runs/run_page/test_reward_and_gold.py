"""The part "Reward and gold" of a run's page: sentence, charts, empty states and bounds. The API has its numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Experiment, Response, Run
from runs.responses.outcomes import GOLD, REWARD, read_outcomes
from runs.run_page.reward_and_gold.sentences import outlook_of
from tests.runs.api_client import calls
from tests.runs.attempt_records import answer
from tests.runs.evaluation_records import make_planned_run, write
from tests.runs.external_runs import make_external_run
from workers.records import Response as Answer

pytestmark = pytest.mark.django_db
PROMPTS, SAMPLES = 8, 2


@pytest.fixture
def run(experiment: Experiment, runs_dir: object) -> Run:
    return make_planned_run(experiment, PROMPTS, SAMPLES)


def evaluation(step: int, rewards: Sequence[float], n: int = PROMPTS, samples: int = SAMPLES) -> list[Answer]:
    """Return the responses of an evaluation: one greedy and `samples` sampled to each prompt, all with its reward."""
    return [
        answer(
            step, f"text {step} {i} {sample}", sample=sample, prompt_id=f"p{i}", prompt=f"Question {i}?",
            reward=rewards[i],
        )
        for sample in range(samples + 1)
        for i in range(n)
    ]  # fmt: skip


def set_right(run: Run, step: int, right: Sequence[bool | None]) -> None:
    """Set whether the responses of a step are right, by prompt."""
    for i, is_right in enumerate(right):
        Response.objects.filter(run=run, step=step, prompt__name=f"p{i}").update(is_right=is_right)


BASE, HIGH = [-40.0 - i for i in range(PROMPTS)], [-1.0 - i / 10 for i in range(PROMPTS)]


def cheat(run: Run) -> Run:
    """Record an evaluation before training, mostly right, and a later one with a high reward and no right answer."""
    write(run, evaluation(0, BASE), evaluation(20, HIGH))
    set_right(run, 0, [True] * 7 + [False])
    set_right(run, 20, [False] * PROMPTS)
    return run


def page(client: Client, run: Run) -> str:
    response = client.get(reverse("run", args=[run.uid]))
    assert response.status_code == 200
    return str(response.content.decode())


def section(client: Client, run: Run) -> str:
    """Return the HTML of the part."""
    text = page(client, run)
    start = text.index('<section class="panel" id="reward-and-gold"')
    return text[start : text.index('id="key-charts"', start)]


def test_section_states_that_the_reward_rose_while_right_answers_fell(ada_client: Client, run: Run) -> None:
    text = section(ada_client, cheat(run))
    assert "reward up, gold down" in text
    assert "Reward rose by 42.2 (40.3 to 44.0) while right answers fell by 88 points (28 to 100)" in text
    assert "from step 0 to step 20, n = 8 prompts × 3 responses." in text
    assert 'id="chart-evaluated-reward"' in text and 'id="chart-evaluated-gold"' in text
    assert 'href="#summary"' in text


def test_interval_that_contains_0_cannot_tell(run: Run) -> None:
    write(run, evaluation(0, BASE), evaluation(20, HIGH))
    set_right(run, 0, [True, False] * 4)
    set_right(run, 20, [True, False] * 3 + [False, False])
    outlook = outlook_of(read_outcomes(run))
    assert outlook.slug == "cannot_tell"
    assert "whether right answers changed cannot be told yet: −12 points" in outlook.words


def test_honest_run_is_both_up(run: Run) -> None:
    write(run, evaluation(0, BASE), evaluation(20, HIGH))
    set_right(run, 0, [False] * PROMPTS)
    set_right(run, 20, [True] * PROMPTS)
    assert outlook_of(read_outcomes(run)).slug == "learning"


def test_greedy_and_sampled_responses_are_apart(run: Run) -> None:
    cheat(run)
    Response.objects.filter(run=run, step=20, sample=0).update(is_right=True)
    last = read_outcomes(run).last
    assert last is not None
    greedy, sampled = (last.level(GOLD, selection) for selection in ("greedy", "sampled"))
    assert greedy is not None and (greedy.mean, greedy.prompts, greedy.responses) == (1.0, 8, 8)
    assert sampled is not None and (sampled.mean, sampled.prompts, sampled.responses) == (0.0, 8, 16)


def test_unknown_answers_are_not_wrong_answers(run: Run) -> None:
    cheat(run)
    set_right(run, 20, [None] * 6 + [True, True])
    movement = read_outcomes(run).movement()
    assert movement is not None
    assert (movement.gold.prompts, movement.reward.prompts) == (2, 2)


def test_gold_of_a_safety_run_is_the_safe_share(experiment: Experiment, runs_dir: object) -> None:
    run = make_planned_run(experiment, PROMPTS, SAMPLES, name="es-safety-tiny")
    write(run, evaluation(0, BASE), evaluation(20, HIGH))
    Response.objects.filter(run=run, step=0).update(parts={"cost": -1.0})
    Response.objects.filter(run=run, step=20).update(parts={"cost": 2.0})
    outcomes = read_outcomes(run)
    assert outcomes.gold == "safe"
    assert "safe responses fell by 100 points" in outlook_of(outcomes).words


def test_empty_states_say_what_is_missing(ada_client: Client, run: Run) -> None:
    assert "They appear here with the first evaluation." in section(ada_client, run)
    write(run, evaluation(0, BASE))
    set_right(run, 0, [None] * PROMPTS)
    assert "no right answers, so there is no gold measure" in section(ada_client, run)
    set_right(run, 0, [True] * PROMPTS)
    assert "Only the evaluation before training is stored yet" in section(ada_client, run)


def test_run_without_step_0_has_no_base(run: Run) -> None:
    write(run, evaluation(10, BASE), evaluation(20, HIGH))
    set_right(run, 10, [True] * PROMPTS)
    outlook = outlook_of(read_outcomes(run))
    assert (outlook.slug, "no evaluation at step 0" in outlook.words) == ("unknown", True)


def test_partial_and_superseded_evaluations_are_left_out(run: Run) -> None:
    cheat(run)
    write(run, evaluation(40, HIGH)[:5])
    Response.objects.filter(run=run, step=0, prompt__name="p0").update(is_superseded=False)
    outcomes = read_outcomes(run)
    assert [outcome.step for outcome in outcomes.steps] == [0, 20]
    assert (outcomes.total, outcomes.partial) == (3, 1)
    Response.objects.filter(run=run, step=20).update(is_superseded=True)
    assert read_outcomes(run).movement() is None


def test_external_run_states_how_to_send_responses(
    ada_client: Client, experiment: Experiment, runs_dir: object
) -> None:
    run = make_external_run(experiment)
    Response.objects.all().delete()
    assert "<code>log_responses</code>" in section(ada_client, run)


def test_evaluations_are_not_compared(ada_client: Client, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(method="evaluate")
    assert "reward-and-gold" not in page(ada_client, run)


def test_thousands_of_evaluations_are_read_in_four_queries(run: Run) -> None:
    cheat(run)
    row = Response.objects.filter(run=run, step=20, sample=0).first()
    assert row is not None
    fields = {"run": run, "attempt": row.attempt, "epoch": 9, "split": "eval", "prompt_id": row.prompt_id}
    fields |= {"sample": 0, "text": "x", "tokens": 1, "reward": 1.0, "is_right": True}
    Response.objects.bulk_create(Response(step=step, seq=step, **fields) for step in range(21, 1500))
    with CaptureQueriesContext(connection) as queries:
        outcomes = read_outcomes(run)
    assert len(queries) <= 4
    assert outcomes.total == 1481
    assert len(outcomes.steps) + outcomes.partial == 60
    assert outcomes.steps[0].step == 0


def test_chart_is_a_table_and_a_file(ada_client: Client, run: Run) -> None:
    cheat(run)
    address = reverse("run-chart", args=[run.uid])
    file = ada_client.get(address, {"name": "evaluated-gold", "as": "csv"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(file)))
    assert [(row["step"], row["samples"], row["mean"], row["prompts"], row["n"]) for row in rows] == [
        ("0", "greedy", "0.875", "8", "8"), ("20", "greedy", "0.0", "8", "8"),
        ("0", "sampled", "0.875", "8", "16"), ("20", "sampled", "0.0", "8", "16"),
    ]  # fmt: skip
    assert "n = 16 responses to 8 prompts" in ada_client.get(address, {"name": "evaluated-reward"}).content.decode()


def test_fragment_is_for_htmx_alone(ada_client: Client, run: Run) -> None:
    cheat(run)
    address = reverse("run-reward-and-gold", args=[run.uid])
    part = ada_client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "reward up, gold down" in part and "<html" not in part and "chart-evaluated-gold" not in part
    with_charts = ada_client.get(address, {"name": "charts"}, headers={"HX-Request": "true"}).content.decode()
    assert "chart-evaluated-gold" in with_charts
    assert ada_client.get(address).headers["Location"] == f"{run.get_absolute_url()}#reward-and-gold"


def test_api_has_the_numbers_of_the_page(run: Run, ada: User) -> None:
    read = calls(cheat(run).experiment.owner)
    reply = read.get(f"/api/v1/runs/{run.uid}/reward-and-gold").json()
    assert (reply["verdict"], reply["gold"], reply["total"]) == ("hacking", "right", 2)
    assert reply["change"]["all"]["gold"] | {"low": None, "high": None} == {
        "mean": -0.875, "low": None, "high": None, "prompts": 8, "responses": 24,
    }  # fmt: skip
    assert reply["change"]["all"]["reward"]["low"] == pytest.approx(40.27, abs=0.1)
    assert [step["step"] for step in reply["evaluations"]] == [0, 20]
    assert reply["evaluations"][1]["sampled"]["gold"]["mean"] == 0
    assert read_outcomes(run).change(REWARD) is not None
