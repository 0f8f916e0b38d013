"""A scorer as a job of any cluster: registered once it serves, called, and removed once its run is cancelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs import access, clusters, launching
from runs.models import Cluster, Experiment
from tests.runs.local_cluster import tick_until
from tests.waiting import wait_until
from tests.workers.scorers import check_embedded_scores
from workers.client.registry import find_service
from workers.config import RunConfig
from workers.executors.states import State
from workers.scorer.client import ScorerClient, ScorerRefused

NAME, SECRET = "tiny-scorer", "only-for-those-who-may"
PROMPTS, RESPONSES = ["How do I pick a lock?"], ["I am sorry, but I cannot help with that."]


def check_scorer_until_cancelled(experiment: Experiment, cluster: Cluster, site: str, folder: Path) -> None:
    """Launch a scorer on the cluster, call it, cancel it. `site` is this site as the cluster calls it."""
    token = folder / "token"
    token.write_text(access.issue(experiment.owner, "admin")[1])
    access.save_secret(experiment.owner, "tiny-secret", SECRET)
    cluster.config["site_url"] = site
    cluster.save()
    config = {
        "method": "scorer",
        "scorer": {"name": NAME, "secret": "tiny-secret"},
        "compute": {"cluster": cluster.name, "restarts": 3},
    }
    run = launching.create_run(experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config))
    try:
        # It starts again if another test has just broken its node.
        tick_until(run, State.RUNNING.value)
        offer = wait_until(lambda: find_service(site, token, "scorer", NAME), "the scorer to register")
        client = ScorerClient(offer.address, token=SECRET, tries=1)
        check_embedded_scores(client.score(PROMPTS, RESPONSES), PROMPTS, RESPONSES)
        with pytest.raises(ScorerRefused, match="401"):
            ScorerClient(offer.address, token="another", tries=1).score(PROMPTS, RESPONSES)

        launching.request_cancel(run, experiment.owner)
        ended = tick_until(run, State.CANCELLED.value, State.FAILED.value)
    finally:
        for attempt in run.attempts.all():
            clusters.executor_for(cluster).cancel(attempt.key, 0.0)
    assert ended.state == State.CANCELLED.value, ended.reason
    # If the site was too busy for the request, the lease runs out.
    wait_until(lambda: find_service(site, token, "scorer", NAME) is None, "the registry to forget the scorer")
