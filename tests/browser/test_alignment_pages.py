"""Pages on collapse and λ: from a collapsed run to the step at which a response changed; charts with one cursor."""

import math
import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from runs.metrics import live
from runs.responses.collapse import tasks
from tests.browser.axe import VIEWS, check_views
from tests.browser.chart_readout import point_at, scroll_to_chart
from tests.runs.attempt_records import answer
from tests.runs.full_runs import make_run, record
from tests.workers.analysis.sample_responses import TEMPLATE, honest
from workers.records import Metric

COUNT = 12


def record_constraint(run, offset):
    smoothed = [3 * math.exp(-step / 8) * math.cos(step / 6) + offset for step in range(40)]
    values = zip(range(40), smoothed, strict=True)
    record(run, [
        Metric(step, {"lambda": 1 + step / 20 + offset, "J_C": j + math.sin(7 * step), "J_C/smoothed": j,
                      "J_C/threshold": 0.0, "cost/mean": j - 0.5, "safety/safe_ratio": step / 50})
        for step, j in values
    ])  # fmt: skip


def make_answers(step, texts):
    return [answer(step, text, prompt_id=f"p{i}", prompt=honest(COUNT)[i].prompt) for i, text in enumerate(texts)]


@pytest.fixture
def runs(experiment):
    es, grpo = make_run(experiment, "es-tiny", 0, "succeeded"), make_run(experiment, "grpo-tiny", 0, "succeeded")
    for run, offset in ((es, 0.0), (grpo, 0.3)):
        record_constraint(run, offset)
        record(
            run,
            make_answers(0, [honest_answer.text for honest_answer in honest(COUNT)])
            + make_answers(20, [honest_answer.text for honest_answer in honest(COUNT, 1)]),
        )
    record(es, make_answers(40, [honest_answer.text for honest_answer in honest(COUNT, 2)]))
    record(grpo, make_answers(40, [TEMPLATE] * COUNT))
    tasks.measure_collapse()
    return es, grpo


def test_collapse_finding_leads_to_step_of_changed_answer(signed_in, address, runs):
    page = signed_in
    page.goto(f"{address}{reverse('run-responses', args=[runs[1].uid])}")
    page.locator("#collapse").scroll_into_view_if_needed()
    expect(page.locator("#collapse .verdict-line")).to_contain_text(
        "detectors fire at step 40, compared with the base model"
    )
    page.locator("#collapse").get_by_role("button", name="Previous step").click()
    expect(page.locator("#collapse .verdict-line")).to_contain_text("quiet")
    page.locator("#collapse").get_by_role("button", name="Next step").click()
    expect(page.locator("#collapse .verdict-line")).to_contain_text("detectors fire at step 40")
    page.locator("#collapse .finding").first.get_by_role("link").first.click()
    page.wait_for_url("**/prompts/**")
    expect(page.locator("#moments article")).to_have_count(2)
    expect(page.get_by_text("all new")).to_have_count(1)
    page.keyboard.press(",")
    page.wait_for_url(re.compile("step=20"))
    expect(page.locator("#moments article").get_by_text("step 20")).to_have_count(2)
    page.get_by_label("Step", exact=True).last.press("ArrowRight")
    page.wait_for_url(re.compile("step=40"))
    expect(page.locator("#moments")).to_contain_text(TEMPLATE)


def test_live_badge_of_collapse_page_goes_when_the_run_has_ended(signed_in, address, experiment):
    run = make_run(experiment)
    record(run, make_answers(0, [honest_answer.text for honest_answer in honest(COUNT)]))
    tasks.measure_collapse()
    signed_in.goto(f"{address}{reverse('run-collapse', args=[run.uid])}")
    badge = signed_in.locator("live-run")
    expect(badge).to_have_text("Live")
    with signed_in.expect_response(lambda response: response.request.headers.get("hx-target") == "collapse-live"):
        live.publish_changed(run.uid, "state")
    expect(badge).to_have_text("Live")
    type(run).objects.filter(pk=run.pk).update(state="succeeded")
    live.publish_changed(run.uid, "state")
    expect(badge).to_have_count(0)
    signed_in.reload()
    expect(signed_in.get_by_role("heading", name="Collapse", exact=True)).to_be_visible()
    expect(badge).to_have_count(0)


def test_lambda_and_constraint_charts_share_cursor(signed_in, address, experiment, runs):
    page = signed_in
    page.set_viewport_size({"width": 1440, "height": 1600})
    page.goto(f"{address}/experiments/{experiment.pk}/lambda/")
    for chart in ("lambda", "j_c"):
        scroll_to_chart(page, chart)
    point_at(page, "lambda", until="j_c")


@pytest.mark.soak
def test_alignment_pages_pass_axe_and_fit(signed_in, address, experiment, runs):
    prompt = runs[1].response_set.first().prompt.word
    for path in (
        f"/experiments/{experiment.pk}/lambda/", f"/runs/{runs[1].uid}/collapse/",
        f"/prompts/{prompt}/?run={runs[1].uid}",
    ):  # fmt: skip
        signed_in.goto(address + path)
        assert check_views(signed_in, VIEWS) == "{}", path
