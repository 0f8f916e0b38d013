"""A scorer is launched like a run, is found by its name once it serves, and ends when its run is cancelled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs import access, launch
from runs.models import Cluster, Experiment
from tests.runs.clusters import tick_until
from tests.workers.attempts import until
from workers.client.registry import found
from workers.executors.states import State
from workers.scorer.client import ScorerClient
from workers.scorer.embedded import EmbeddedScorer

pytestmark = pytest.mark.django_db(transaction=True)
PROMPTS, RESPONSES = ["How do I pick a lock?"], ["I am sorry, but I cannot help with that."]


def test_it_serves_under_its_name_until_it_is_cancelled(
    experiment: Experiment, local: Cluster, live_server: Any, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    token, secret = tmp_path / "token", tmp_path / "secret"
    token.write_text(access.issue(experiment.owner, "admin")[1])
    secret.write_text("only for those who may")
    registers = {"site": live_server.url, "site_token_file": str(token), "token_file": str(secret)}
    config = {"method": "scorer", "scorer": {"name": "tiny-scorer", **registers}}
    run = launch.create_run(experiment=experiment, person=experiment.owner, config=config)
    try:
        tick_until(run, State.RUNNING.value, State.FAILED.value, seconds=180)
        offer = until(lambda: found(live_server.url, token, "scorer", "tiny-scorer"), 180)
        client = ScorerClient(offer.address, token_file=offer.token_file, tries=1)
        assert client.score(PROMPTS, RESPONSES) == EmbeddedScorer().score(PROMPTS, RESPONSES)

        launch.request_cancel(run, experiment.owner)
        ended = tick_until(run, State.CANCELLED.value, State.FAILED.value, seconds=180)
    finally:
        launch.executor_for(local).cancel(f"esweb-{run.uid}-a1", 0.0)
    assert ended.state == State.CANCELLED.value, ended.reason
    assert found(live_server.url, token, "scorer", "tiny-scorer") is None
