"""Relative times of open pages follow the clock."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from runs.http import ago
from runs.models import Experiment


@pytest.mark.usefixtures("own_context")
def test_relative_time_follows_the_clock(signed_in, address, experiment):
    Experiment.objects.filter(pk=experiment.pk).update(created_at=timezone.now() - timedelta(hours=3))
    signed_in.clock.install()
    signed_in.goto(f"{address}/experiments/")
    age = signed_in.locator(".experiment-list time")
    expect(age).to_have_text("3 h ago")
    signed_in.clock.fast_forward("01:00:10")
    expect(age).to_have_text("4 h ago")
    signed_in.clock.fast_forward("50:00:00")
    expect(age).to_have_text("2 days ago")


def test_words_of_page_and_server_are_the_same(signed_in, address, experiment):
    signed_in.goto(f"{address}/experiments/")
    ages = [1, 59, 61, 3599, 3601, 100_000, 200_000, 86400 * 59, 86400 * 61]
    times = [ago(timezone.now() - timedelta(seconds=age, milliseconds=100)) for age in ages]
    signed_in.locator("main").evaluate("(main, html) => { main.innerHTML = html }", "".join(times))
    words = signed_in.locator("main time").all_text_contents()
    signed_in.evaluate("document.dispatchEvent(new Event('htmx:afterSettle'))")
    assert signed_in.locator("main time").all_text_contents() == words
    assert words[0] == "just now" and words[-2] == "59 days ago"
