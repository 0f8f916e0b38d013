"""Launches that arrive together take turns: those that wait hold no connection, and each is stored once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from runs.http import UserSlots
from runs.launching import turns
from runs.launching.turns import LaunchesBusy
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.api_client import calls
from tests.runs.launching.test_launch_page import sent
from tests.waiting import PATIENCE_SECONDS, wait_until

PARALLEL = 12
"""More than there are connections to the database."""
BUSY = (
    "Other launches have been waiting for a minute, so this one has not begun, and nothing was stored. Try again in a "
    "few seconds."
)
NEW = {"experiment_name": "Concise", "preset": "es-micro"}


@pytest.fixture
def one_turn(monkeypatch: pytest.MonkeyPatch) -> UserSlots:
    """Return slots for one launch at a time, for which the others wait as long as necessary."""
    slots = UserSlots(1, PATIENCE_SECONDS, LaunchesBusy)
    monkeypatch.setattr(turns, "slots", slots)
    return slots


@pytest.fixture
def no_turn(monkeypatch: pytest.MonkeyPatch) -> ExitStack:
    """Occupy the only slot, for which nobody waits for long."""
    monkeypatch.setattr(turns, "slots", UserSlots(1, 0.0, LaunchesBusy))
    stack = ExitStack()
    stack.enter_context(turns.slots.occupied(0))
    return stack


def over_the_api(script: Client, name: str) -> int:
    return script.post("/api/v1/runs", {**NEW, "name": name}, content_type="application/json").status_code


def with_a_key(script: Client, name: str) -> int:
    headers = {"Idempotency-Key": name.partition("-")[0]}
    new = {**NEW, "name": name.partition("-")[0]}
    return script.post("/api/v1/runs", new, content_type="application/json", headers=headers).status_code


def answer_and_disconnect(launch: Callable[[Client, str], int], client: Client, name: str) -> int:
    """Return the status, and give the connection of this thread back."""
    try:
        return launch(client, name)
    finally:
        connection.close()


def launch_while_the_turn_is_taken(
    slots: UserSlots, launch: Callable[[Client, str], int], clients: list[Client], names: list[str]
) -> list[int]:
    """Send launches together while another user has the only turn. Return their statuses after the turn has ended."""
    pool: Any = connection.pool  # type: ignore[attr-defined]
    connection.close()
    with ThreadPoolExecutor(len(names)) as threads, ExitStack() as stack:
        stack.enter_context(slots.occupied(0))
        answers = [threads.submit(answer_and_disconnect, launch, *pair) for pair in zip(clients, names, strict=True)]
        wait_until(lambda: slots.waiting == len(names), "all launches to wait")
        stats = pool.get_stats()
        stack.close()
        statuses = [answer.result(PATIENCE_SECONDS) for answer in answers]
    assert stats["pool_size"] == stats["pool_available"]
    return statuses


@pytest.mark.django_db(transaction=True)
def test_waiting_launches_hold_no_connection_and_are_stored_once(
    ada: User, local: Cluster, one_turn: UserSlots
) -> None:
    names = [f"run {n}" for n in range(PARALLEL)]
    scripts = [calls(ada) for _ in names]
    assert launch_while_the_turn_is_taken(one_turn, over_the_api, scripts, names) == [201] * PARALLEL
    assert sorted(Run.objects.values_list("name", flat=True)) == sorted(names)
    assert Attempt.objects.count() == PARALLEL
    assert Experiment.objects.get().name == "Concise"


@pytest.mark.django_db(transaction=True)
def test_parallel_repetitions_of_a_key_store_one_run(ada: User, local: Cluster, one_turn: UserSlots) -> None:
    names = [f"run{n % 3}-{n}" for n in range(PARALLEL)]
    script = calls(ada)
    assert launch_while_the_turn_is_taken(one_turn, with_a_key, [script] * PARALLEL, names) == [201] * PARALLEL
    assert sorted(Run.objects.values_list("name", flat=True)) == ["run0", "run1", "run2"]


@pytest.mark.django_db(transaction=True)
def test_waiting_forms_hold_no_connection_and_are_stored_once(
    ada: User, experiment: Experiment, local: Cluster, one_turn: UserSlots
) -> None:
    address, browsers = reverse("launch", args=[experiment.pk]), [Client() for _ in range(PARALLEL)]
    for browser in browsers:
        browser.force_login(ada)

    def send_form(browser: Client, name: str) -> int:
        return browser.post(address, sent(name=name)).status_code

    names = [f"run {n}" for n in range(PARALLEL)]
    assert launch_while_the_turn_is_taken(one_turn, send_form, browsers, names) == [302] * PARALLEL
    assert sorted(Run.objects.values_list("name", flat=True)) == sorted(names)


def test_launch_without_a_turn_stores_nothing_and_says_so(
    ada: User, ada_client: Client, experiment: Experiment, local: Cluster, no_turn: ExitStack
) -> None:
    refused = calls(ada).post("/api/v1/runs", {**NEW, "name": "late"}, content_type="application/json")
    assert (refused.status_code, refused["Retry-After"], refused.json()["detail"]) == (503, "5", BUSY)
    page = ada_client.post(reverse("launch", args=[experiment.pk]), sent())
    assert page.status_code == 503 and "nothing was stored" in page.content.decode()
    assert ada_client.get(reverse("launch", args=[experiment.pk])).status_code == 200
    assert not Run.objects.exists()
    no_turn.close()
    assert over_the_api(calls(ada), "in time") == 201


def test_turn_goes_to_the_user_who_waited_longest() -> None:
    slots, order, ended = UserSlots(1, PATIENCE_SECONDS, LaunchesBusy), list[int](), threading.Event()

    def take_turn(user: int) -> None:
        with slots.occupied(user):
            order.append(user)
            assert ended.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(PARALLEL) as threads:
        for number, user in enumerate([1, 1, 1, 1, 2]):
            threads.submit(take_turn, user)
            wait_until(lambda number=number: slots.waiting == number, "the launch to wait")  # type: ignore[misc]
        ended.set()
    assert order == [1, 2, 1, 1, 1]
