"""Ray executor. A job's submission id is the attempt's key, which Ray gives to one job alone.

RUNNING from Ray is not believed without a heartbeat: when the part of Ray on a job's node dies, nothing else in Ray
notices. When its head dies, Ray forgets all jobs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workers.executors.agent_start import write_spec
from workers.executors.base import KEY, Observation, Rejected, Spec, Unreachable
from workers.executors.cancel_requests import CancelRequests
from workers.executors.ray.job_notes import JobNotes
from workers.executors.ray.jobs import Jobs
from workers.executors.ray.nodes import Size, is_too_large, waiting_reason
from workers.executors.ray.replies import Job
from workers.executors.ray.request import request
from workers.executors.ray.site import Site
from workers.executors.states import State

log = logging.getLogger(__name__)

STILL_LISTED = "cancelled while it was queued; Ray cannot remove it and lists it until it would start, which stops it"


class Ray:
    """A cluster whose dashboard is called over HTTP. `root` stores what must outlive this process."""

    trust_running = False

    def __init__(self, site: Site, root: Path, beat_seconds: float = 15.0) -> None:
        self.site, self.beat_seconds = site, beat_seconds
        self.jobs = Jobs(site.dashboard, site.token_file)
        self.notes, self.cancel_requests, self.waiting_since = (
            JobNotes(root / "jobs"),
            CancelRequests(root / "asked"),
            CancelRequests(root / "waited"),
        )

    def find(self, key: str) -> Observation | None:
        """Return the job of that key, also an ended one, until Ray's head ends. Raise Unreachable."""
        with _disk_errors():
            return self._observe(self.jobs.get(key)) if KEY.fullmatch(key) else None

    def submit(self, spec: Spec) -> str:
        """Submit the job and return the key. Raise Rejected, Ambiguous or Unreachable."""
        if not KEY.fullmatch(spec.key):
            raise Rejected(f"{spec.key!r} is not a valid key: use only letters, digits, - and _")
        with _disk_errors():
            write_spec(spec, self.beat_seconds)
            self.notes.put(spec)
        self.jobs.submit(spec.key, request(self.site, spec))
        return spec.key

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """Return all jobs by one query; if one of them waits, a second query reads the nodes. Raise Unreachable."""
        jobs = self.jobs.all()
        own_jobs = {key: jobs.get(key) for key in keys}
        nodes = self._nodes() if any(job and job.state == State.QUEUED for job in own_jobs.values()) else []
        with _disk_errors():
            return {key: self._observe(job, nodes) for key, job in own_jobs.items()}

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Ask a running job to stop: Ray ends it after the grace, or else its agent does within a heartbeat. Fence a
        waiting one, whatever Ray does with it. Raise Unreachable."""
        if not KEY.fullmatch(key) or (job := self.jobs.get(key)) is None or job.state.is_final:
            return
        with _disk_errors():
            if (note := self.notes.get(key)) and (
                job.state == State.QUEUED or self.cancel_requests.seconds_since_first(key) > grace_seconds
            ):
                note.fence()
        self.jobs.stop(key)

    def _nodes(self) -> list[Size]:
        """Return the nodes for the reason of a waiting job; none if they cannot be read, so that the reason is
        shorter."""
        try:
            return self.jobs.nodes()
        except Unreachable as error:
            log.info("Ray: sizes of nodes not read, so reasons of waiting jobs are shorter: %s", error)
            return []

    def _observe(self, job: Job | None, nodes: Sequence[Size] = ()) -> Observation | None:
        if job is None:
            return None
        if job.state == State.QUEUED:
            return self._observe_waiting(job, nodes)
        self.waiting_since.remove(job.key)
        if job.state.is_final:
            self.notes.remove(job.key)
            self.cancel_requests.remove(job.key)
        return job.to_observation()

    def _observe_waiting(self, job: Job, nodes: Sequence[Size]) -> Observation:
        note, seconds, max_seconds = (
            self.notes.get(job.key),
            self.waiting_since.seconds_since_first(job.key),
            self.site.start_seconds,
        )
        reason = waiting_reason(note.size, nodes) if note else "waiting to start"
        if note and (is_late := 0 < max_seconds < seconds):
            note.fence()
        if note and note.is_fenced:
            failure = f"given up after {seconds:.0f} s (start_seconds in the cluster's config): it was {reason}"
            state, message = (State.FAILED, failure) if is_late else (State.CANCELLED, STILL_LISTED)
            return Observation(state, job.key, job.word, message)
        never = note is not None and is_too_large(note.size, nodes)
        return Observation(State.QUEUED, job.key, job.word, f"{reason} (Ray: {job.word})", never_starts=never)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise Unreachable if the disk refuses: that says nothing about any job, and the caller tries again later."""
    try:
        yield
    except OSError as error:
        raise Unreachable(f"the notes about jobs cannot be used: {error}") from error
