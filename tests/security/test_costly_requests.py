"""Requests of at most 10 kB that are made to cost much, drawn by seed: `make soak PART=attack`.

`make bench PART=abuse` sends all of them, and measures. Here is a bound that only a fault of another order exceeds. The
classes of such requests have tests of their own: test_import_costs, test_linear_expressions, test_text_lengths.
"""

from __future__ import annotations

import random
import time

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests import soak_plugin
from tests.runs import checkpoint_files
from tests.security.costly_requests import CostlyRequest, all_requests
from tests.security.every_object import make_every_object

SEED = soak_plugin.seed(1)
REQUESTS = 20
MAX_SECONDS = 3.0
"""Processor time of one request, six times the goal of the benchmark: the machine may be busy."""


@pytest.mark.soak
@pytest.mark.usefixtures("db", "local", "runs_dir")
def test_costly_request_is_answered_in_bounded_processor_time(ada: User) -> None:
    requests = list(all_requests(make_every_object(ada), [run.uid for run in ada.runs.all()], ["reward/mean", "kl"]))
    assert len(requests) > 1000
    for number in soak_plugin.rounds(1, "rounds of costly requests"):
        for request in random.Random(SEED + number).sample(requests, REQUESTS):
            check(ada, request)


def check(person: User, request: CostlyRequest) -> None:
    """Send the request as this user, and check its status and the processor time of this thread. Undo its changes."""
    browser = Client(raise_request_exception=False)
    with transaction.atomic():
        browser.force_login(person)
        kind = request.headers.get("Content-Type", "application/octet-stream")
        began = time.thread_time()
        response = browser.generic(request.method, request.target, request.body, kind)
        seconds = time.thread_time() - began
        if response.streaming:
            checkpoint_files.close(response)
        transaction.set_rollback(True)
    assert response.status_code < 500, f"{request.method} {request.target[:200]}: {request.cause}"
    assert seconds < MAX_SECONDS, f"{request.method} {request.target[:200]}: {request.cause} took {seconds:.1f} s"
