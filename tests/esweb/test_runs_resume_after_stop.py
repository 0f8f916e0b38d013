"""A whole site that is stopped while a run trains: its next start resumes the run, which finishes by itself.

`make test` has the parts: what a stop and the ticks after it do to attempts (tests/runs/launching/test_site_stop.py).
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.chaos.supervisor import Supervisor
from tests.started_site import make_started_site
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.soak
ES = {"population": 6, "prompts": 4, "checkpoint_every": 5}
STEPS = {"trains for long": 300, "is cancelled": 300, "finishes after one stop": 100}
OFF = "ESWEB_RESUME_AFTER_STOP"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Supervisor]:
    """Return a `manage.py up` that is not started yet."""
    house = Supervisor(make_started_site(tmp_path / "data"), {})
    yield house
    house.kill_all()


def test_training_goes_on_after_stops_until_a_setting_forbids_it(house: Supervisor) -> None:
    house.start()
    with closing(api(house)) as site:
        runs = [launch(site, name) for name in STEPS]
        for run in runs:
            wait_until(lambda run=run: checkpoints(house, run, 1), f"a checkpoint of {run}")
        site.post(f"/runs/{runs[1]}/cancel").raise_for_status()
    stop(house, signal.SIGTERM)
    assert "the next start resumes them" in house.output, house.output

    house.start()
    with closing(api(house)) as site:
        wait_until(
            lambda: checkpoints(house, runs[0], 2), "a checkpoint of the resumed attempt", details=lambda: house.output
        )
        assert state(site, runs[1])["state"] == "cancelled"
        wait_until(lambda: state(site, runs[2])["state"] == "succeeded", "the shorter run to finish by itself")
    stop(house, signal.SIGINT)

    house.env[OFF] = "0"
    house.start()
    with closing(api(house)) as site:
        wait_until(lambda: "not resumed automatically" in page(house, site, runs[0]), "the page to name the setting")
        first, second = attempts(site, runs[0])
        assert [first["state"], second["state"], second["origin"]] == ["interrupted", "interrupted", "site_start"]
        assert (first["reason"], second["reason"]) == (
            "esweb was stopped by SIGTERM",
            f"esweb was stopped by SIGINT; not resumed automatically, because {OFF} is 0",
        )
        # The stop has saved one, at the step that it reached.
        assert second["resumed_step"] == max(int(path.name[-6:]) for path in checkpoints(house, runs[0], 1))
        site.post(f"/runs/{runs[0]}/resume").raise_for_status()
        wait_until(lambda: state(site, runs[0])["state"] == "succeeded", "the run to reach its last step")
        steps = [attempt["resumed_step"] for attempt in attempts(site, runs[0])]
        assert steps[0] is None and 0 < steps[1] <= steps[2]
    stop(house, signal.SIGTERM)
    assert not house.processes(), "something lives on after the end"


def api(house: Supervisor) -> httpx.Client:
    """Return a client that is signed in by the link that this start of `up` prints."""
    link = wait_until(lambda: re.search(r"http\S+/sign-in/\S+", house.output), "the link", details=lambda: house.output)
    site = httpx.Client(base_url=f"{house.address}/api/v1", timeout=PATIENCE_SECONDS)
    site.get(link.group())
    site.headers["X-CSRFToken"] = site.cookies["csrftoken"]
    return site


def launch(site: httpx.Client, name: str) -> str:
    config = {"es": {**ES, "iterations": STEPS[name]}, "evaluation": {"every": 0, "prompts": 4, "samples": 1}}
    body = {"experiment_name": "Stops", "name": name, "preset": "es-micro", "config": config}
    return str(site.post("/runs", json=body).raise_for_status().json()["uid"])


def state(site: httpx.Client, run: str) -> dict[str, Any]:
    return dict(site.get(f"/runs/{run}").raise_for_status().json())


def attempts(site: httpx.Client, run: str) -> list[dict[str, Any]]:
    return sorted(state(site, run)["attempts"], key=lambda attempt: int(attempt["n"]))


def page(house: Supervisor, site: httpx.Client, run: str) -> str:
    return " ".join(site.get(f"{house.address}/runs/{run}/").raise_for_status().text.split())


def checkpoints(house: Supervisor, run: str, n: int) -> list[Path]:
    return [*house.data.glob(f"runs/{run}/*-a{n}/checkpoints/step-*")]


def stop(house: Supervisor, number: signal.Signals) -> None:
    assert house.up is not None
    house.up.send_signal(number)
    assert house.up.wait(PATIENCE_SECONDS) == 0, house.output
