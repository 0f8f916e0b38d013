"""Parser of Ray's replies about jobs."""

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
    "JOB_SUPERVISOR_ACTOR_DIED": (State.NODE_LOST, "its process died on its node, or the node failed"),
    "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE": (State.NODE_LOST, "Ray lost its process"),
    "JOB_SUPERVISOR_ACTOR_START_FAILURE": (State.NODE_LOST, "Ray could not start it on a node"),
    "JOB_SUPERVISOR_ACTOR_START_TIMEOUT": (
        State.FAILED,
        "it waited longer than Ray allows: RAY_JOB_START_TIMEOUT_SECONDS on the head, 900 by default",
    ),
    "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE": (State.FAILED, "no node can run it"),
    "RUNTIME_ENV_SETUP_FAILURE": (State.FAILED, "its environment could not be created on the node"),
    "JOB_ENTRYPOINT_COMMAND_START_ERROR": (State.FAILED, "its command could not be started"),
}
OUT_OF_MEMORY = "low on memory"
"""The message of Ray when it killed a job to save its node."""
RAY_PHRASES = ("Job entrypoint command failed", "Running entrypoint for job", "Runtime env is setting up")
LINE = 300


@dataclass(frozen=True)
class Job:
    """One job, as Ray reports it. `host` is of the node that runs it, empty before it is known."""

    key: str
    word: str
    message: str
    error: str
    host: str

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Job:
        """Return the job in an entry of Ray's. Raise TypeError, KeyError or ValueError if it is not one."""
        host = urlsplit(str(data["driver_agent_http_address"] or "")).hostname
        key, word, message, error = (str(data[k] or "") for k in ("submission_id", "status", "message", "error_type"))
        return cls(key, word, message, error, host or "")

    @property
    def state(self) -> State:
        """Return our state. An unknown word of a later Ray is no end: such a job waits, or runs if it has a node."""
        if self.word == "FAILED":
            return State.OOM if OUT_OF_MEMORY in self.message else ERRORS.get(self.error, (State.FAILED, ""))[0]
        return STATES.get(self.word, State.RUNNING if self.host else State.QUEUED)

    def to_observation(self) -> Observation:
        """Return the state and its reason as an observation."""
        return Observation(self.state, self.key, self.error or self.word, self._reason(), self.host)

    def _reason(self) -> str:
        if not self.state.is_final:
            return f"on {self.host}" if self.host else ""
        if self.word != "FAILED":
            return f"Ray: {self.word}"
        if self.state == State.OOM:
            return "Ray killed it: its node ran low on memory (compute.memory_mb)"
        if self.error in ERRORS:
            return f"{ERRORS[self.error][1]} (Ray: {self.error}: {self._last_words()})"
        # Ray splits a line that was written in pieces.
        lines = self._program_lines()
        return explain([*lines, "".join(lines)], "Ray's log") or f"{self._first_words()}: {self._last_words()}"

    def _first_words(self) -> str:
        return self.message.partition(",")[0].strip()[:LINE] or f"Ray: {self.word}"

    def _last_words(self) -> str:
        return lines[-1].strip()[:LINE] if (lines := self._program_lines()) else "no message"

    def _program_lines(self) -> list[str]:
        """Return the lines of the message that are not Ray's own."""
        lines = [line for line in self.message.splitlines() if line.strip(" .^~\t")]
        return [line for line in lines if not any(words in line for words in RAY_PHRASES)]
