"""Runs launched over REST while what answers is being killed: each exists once, however often it was asked for."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import httpx

from tests import soaking
from tests.chaos.site_process import House
from tests.waiting import PATIENCE_SECONDS
from workers.executors.states import OPEN_STATES, State

LAUNCH_SECONDS = 0.5
LAST = "the last run"
SHORT = {"evaluation": {"every": 10, "prompts": 4, "samples": 1}}
STEPS = 30 if soaking.SECONDS else 10
ES = {"es": {"iterations": STEPS, "population": 8, "prompts": 4, "checkpoint_every": 5}, **SHORT}
GRPO = {"grpo": {"max_steps": STEPS, "save_steps": 5}, **SHORT}
KINDS = (("es-micro", ES), ("grpo-micro", GRPO))
RESTARTS = (0, 0, 1, 2)


class Launcher(threading.Thread):
    """Keeps `going` runs open until it is told to stop: while what it asks is away, it waits and asks again."""

    def __init__(self, house: House, going: int) -> None:
        super().__init__(daemon=True)
        token = house.manage("createtoken", "admin", "--scope", "launch")
        # Longer than anything is waited for on the other side: a request given up here might still be granted there.
        self.client = httpx.Client(
            base_url=f"{house.address}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_SECONDS
        )
        self.launched: list[str] = []
        self.refused = ""
        self._going, self._over = going, threading.Event()

    def run(self) -> None:
        while not self._over.wait(LAUNCH_SECONDS):
            try:
                if (states := self._states()) is not None:
                    self._keep(states)
            except httpx.TransportError:
                continue  # whatever it was has been killed

    def one_more(self) -> None:
        """From now on none is launched but one last run."""
        self._going = 0
        self.launched.append(LAST)

    def stop(self) -> None:
        """Returns once it has ended."""
        self._over.set()
        self.join()
        self.client.close()

    def _keep(self, states: Mapping[str, str]) -> None:
        for _ in range(self._going - sum(is_open(states.get(name, "created")) for name in self.launched)):
            self.launched.append(f"run {len(self.launched)}")
        for number, name in enumerate(self.launched):
            if name not in states:
                self._launch(number, name)

    def _launch(self, number: int, name: str) -> None:
        kind, config = kind_of(number)
        config = {**config, "compute": {"restarts": RESTARTS[number % len(RESTARTS)]}}
        body = {"experiment_name": "Chaos", "name": name, "preset": kind, "config": config, "seed": number}
        self._heard(self.client.post("/runs", json=body))

    def _states(self) -> dict[str, str] | None:
        """Name -> state; None where the site is not well. Runs are few enough for one page."""
        answer = self._heard(self.client.get("/runs", params={"limit": 500}))
        return {run["name"]: run["state"] for run in answer.json()["items"]} if answer.is_success else None

    def _heard(self, answer: httpx.Response) -> httpx.Response:
        """What answers may be broken by now, and say so; nothing in what was asked is wrong."""
        if answer.is_client_error:
            self.refused = answer.text
        return answer


def kind_of(number: int) -> tuple[str, Mapping[str, object]]:
    """Return the preset and config of that run: every second one trains by GRPO, and outside a soak only one does.

    GRPO's libraries take ten seconds to import.
    """
    return KINDS[number % len(KINDS) if soaking.SECONDS else int(number == 1)]


def is_open(state: str) -> bool:
    """True where a run has not ended."""
    return State(state) in OPEN_STATES
