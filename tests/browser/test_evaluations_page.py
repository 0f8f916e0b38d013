"""The page that compares evaluations: what a chart over k lists at the mouse, and whole names on a phone."""

from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.chart_readout import point_at, scroll_to_chart, values_at_pointer
from tests.browser.page_idle import find_overflow
from tests.runs.evaluation_runs import make_evaluation, make_training, record_steps

BROKEN_WORDS = """cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (walker.nextNode()) {
    for (const match of walker.currentNode.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, match.index);
      range.setEnd(walker.currentNode, match.index + match[0].length);
      if (range.getClientRects().length > 1) broken.push(match[0]);
    }
  }
  return broken;
}"""
"""Returns the words of an element that continue on another line. A line may end after a hyphen."""


def record_evaluation(experiment, name):
    run = make_evaluation(experiment, make_training(experiment), name)
    return record_steps(run, {0: [0, 1, 0, 2], 10: [1, 3, 1, 4]}, {0: [2, 2], 10: [1, 0]})


def test_chart_over_k_names_k_and_names_of_evaluations_break_between_words_on_a_phone(signed_in, address, experiment):
    record_evaluation(experiment, "evaluate grpo-tiny-reckless save_steps=10 seed 1")
    page = signed_in
    page.goto(f"{address}{reverse('evaluations', args=[experiment.pk])}")
    check_readout(page)
    page.set_viewport_size({"width": 390, "height": 844})
    name = page.locator(".evaluations tbody th").first
    expect(name).to_be_visible()
    assert name.evaluate(BROKEN_WORDS) == []
    assert find_overflow(page, 390) == ""


def check_readout(page):
    """Check that the readout of a chart over k names k."""
    chart = page.locator('[data-chart="pass@k"]').get_attribute("id").removeprefix("chart-")
    scroll_to_chart(page, chart)
    point_at(page, chart, 0.98, 0.4)
    expect(page.locator(f"#chart-{chart} .chart-readout .where")).to_have_text("k = 4")
    expect(values_at_pointer(page, chart)).to_have_count(2)
