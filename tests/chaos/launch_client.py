"""Launch runs over REST while the server is being killed: each exists once, however often it was requested."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import httpx

from tests import soak_plugin
from tests.chaos.supervisor import Supervisor
from tests.waiting import PATIENCE_SECONDS
from workers.executors.states import OPEN_STATES, State

LAUNCH_SECONDS = 0.5
LAST_RUN_NAME = "the last run"
SHORT = {"evaluation": {"every": 10, "prompts": 4, "samples": 1}}
STEPS = 30 if soak_plugin.SECONDS else 10
ES = {"es": {"iterations": STEPS, "population": 8, "prompts": 4, "checkpoint_every": 5}, **SHORT}
MAX_RUNS = 10**6 if soak_plugin.SECONDS else 3
"""Number of runs before the last one: each costs seconds of a core before its first step."""
GRPO = {"grpo": {"max_steps": STEPS, "save_steps": 5}, **SHORT}
KINDS = (("es-micro", ES), ("grpo-micro", GRPO))
RESTARTS = (0, 0, 1, 2)


class RunLauncher(threading.Thread):
    """A thread that keeps `max_open` runs open until it is stopped. While the site is down, it waits and retries."""

    def __init__(self, supervisor: Supervisor, max_open: int) -> None:
        super().__init__(daemon=True)
        self.token = supervisor.manage("createtoken", "admin", "--scope", "launch")
        # Longer than any wait on the server: a request that is given up here might still succeed there.
        self.client = httpx.Client(
            base_url=f"{supervisor.address}/api/v1",
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=PATIENCE_SECONDS,
        )
        self.launched: list[str] = []
        self.refused = ""
        self._max_open, self._stop_requested = max_open, threading.Event()

    def run(self) -> None:
        while not self._stop_requested.wait(LAUNCH_SECONDS):
            try:
                if (states := self._states()) is not None:
                    self._launch_missing(states)
            except httpx.TransportError:
                continue  # the server has been killed

    def launch_last(self) -> None:
        """Launch one last run and no others from now on."""
        self._max_open = 0
        self.launched.append(LAST_RUN_NAME)

    def stop(self) -> None:
        """Stop the thread and wait for its end."""
        self._stop_requested.set()
        self.join()
        self.client.close()

    def _launch_missing(self, states: Mapping[str, str]) -> None:
        missing = self._max_open - sum(is_open(states.get(name, "created")) for name in self.launched)
        for _ in range(min(missing, MAX_RUNS - len(self.launched))):
            self.launched.append(f"run {len(self.launched)}")
        for number, name in enumerate(self.launched):
            if name not in states:
                self._launch(number, name)

    def _launch(self, number: int, name: str) -> None:
        preset, config = preset_and_config(number)
        config = {**config, "compute": {"restarts": RESTARTS[number % len(RESTARTS)]}}
        body = {"experiment_name": "Chaos", "name": name, "preset": preset, "config": config, "seed": number}
        self._checked(self.client.post("/runs", json=body))

    def _states(self) -> dict[str, str] | None:
        """Return name -> state, or None if the site is not healthy. Runs are few enough for one page."""
        response = self._checked(self.client.get("/runs", params={"limit": 500}))
        return {run["name"]: run["state"] for run in response.json()["items"]} if response.is_success else None

    def _checked(self, response: httpx.Response) -> httpx.Response:
        """Store a client error's text in `refused` and return the response.

        The server may be broken now and say so, but nothing in the request is wrong.
        """
        if response.is_client_error:
            self.refused = response.text
        return response


def preset_and_config(number: int) -> tuple[str, Mapping[str, object]]:
    """Return the preset and config of that run: in a soak every second run trains by GRPO, otherwise none.

    GRPO's libraries take ten seconds to import.
    """
    return KINDS[number % len(KINDS) if soak_plugin.SECONDS else 0]


def is_open(state: str) -> bool:
    """Return whether a run in this state has not finished."""
    return State(state) in OPEN_STATES
