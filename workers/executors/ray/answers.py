"""What Ray says about a job, read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from workers.executors.base import Observation
from workers.executors.diagnosis import explain
from workers.executors.states import State

STATES = {
    "PENDING": State.QUEUED,
    "RUNNING": State.RUNNING,
    "SUCCEEDED": State.SUCCEEDED,
    "FAILED": State.FAILED,
    "STOPPED": State.CANCELLED,
}
ERRORS = {
    "JOB_SUPERVISOR_ACTOR_DIED": (State.NODE_LOST, "what ran it died on its node, or the node did"),
    "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE": (State.NODE_LOST, "Ray has lost what ran it"),
    "JOB_SUPERVISOR_ACTOR_START_FAILURE": (State.NODE_LOST, "Ray could not start it on a node"),
    "JOB_SUPERVISOR_ACTOR_START_TIMEOUT": (
        State.FAILED,
        "it waited longer than Ray lets jobs wait: RAY_JOB_START_TIMEOUT_SECONDS on the head, 900 where it is not set",
    ),
    "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE": (State.FAILED, "no node can run it"),
    "RUNTIME_ENV_SETUP_FAILURE": (State.FAILED, "its environment could not be made on the node"),
    "JOB_ENTRYPOINT_COMMAND_START_ERROR": (State.FAILED, "its command could not be started"),
}
OUT_OF_MEMORY = "low on memory"
"""How Ray says that it killed a job to save its node."""
OWN_WORDS = ("Job entrypoint command failed", "Running entrypoint for job", "Runtime env is setting up")
LINE = 300


@dataclass(frozen=True)
class Job:
    """One job, as Ray has it. `host` is of the node that runs it, empty before it is known."""

    key: str
    word: str
    message: str
    error: str
    host: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Job:
        """Raises TypeError, KeyError or ValueError where it is none of Ray's."""
        where = urlsplit(str(data["driver_agent_http_address"] or "")).hostname
        key, word, message, error = (str(data[k] or "") for k in ("submission_id", "status", "message", "error_type"))
        return cls(key, word, message, error, where or "")

    @property
    def state(self) -> State:
        """Ours. A word of a Ray to come is no end: such a job waits, or runs where it has a node."""
        if self.word == "FAILED":
            return State.OOM if OUT_OF_MEMORY in self.message else ERRORS.get(self.error, (State.FAILED, ""))[0]
        return STATES.get(self.word, State.RUNNING if self.host else State.QUEUED)

    def observed(self) -> Observation:
        """What there is to say about it."""
        return Observation(self.state, self.key, self.error or self.word, self._why(), self.host)

    def _why(self) -> str:
        if not self.state.is_final:
            return f"on {self.host}" if self.host else ""
        if self.word != "FAILED":
            return f"Ray: {self.word}"
        if self.state == State.OOM:
            return "Ray killed it: its node ran low on memory (compute.memory_mb)"
        if self.error in ERRORS:
            return f"{ERRORS[self.error][1]} (Ray: {self.error}: {self._last_words()})"
        # Ray splits a line that was written in pieces.
        said = self._said()
        return explain([*said, "".join(said)], "Ray's log") or f"{self._first_words()}: {self._last_words()}"

    def _first_words(self) -> str:
        return self.message.partition(",")[0].strip()[:LINE] or f"Ray: {self.word}"

    def _last_words(self) -> str:
        return said[-1].strip()[:LINE] if (said := self._said()) else "nothing was said"

    def _said(self) -> list[str]:
        """The lines of its message that are not Ray's own."""
        lines = [line for line in self.message.splitlines() if line.strip(" .^~\t")]
        return [line for line in lines if not any(words in line for words in OWN_WORDS)]
