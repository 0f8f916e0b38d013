"""Ray executor. A job's submission id is the attempt's key, which Ray gives to one job alone.

RUNNING from Ray is not believed without a heartbeat: when the part of Ray on a job's node dies, nothing else in Ray
notices. When its head dies, Ray forgets all jobs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from workers.executors.agent_start import write_spec
from workers.executors.base import KEY, Ambiguous, NodeShape, Observation, Rejected, Spec, Unreachable
from workers.executors.cancel_requests import CancelRequests
from workers.executors.ray.job_notes import JobNotes, Note, note_of
from workers.executors.ray.jobs import Jobs
from workers.executors.ray.nodes import Size, shapes_of, spell_type
from workers.executors.ray.replies import Job
from workers.executors.ray.request import request
from workers.executors.ray.site import Site
from workers.executors.states import State

log = logging.getLogger(__name__)

STILL_LISTED = "cancelled while it was queued; Ray cannot remove it and lists it until it would start, which stops it"
HELD = "HELD"
"""Our word for a job that Ray does not know yet, because Ray has too few nodes for it."""
NOT_SENT = "cancelled while it was queued; it was not sent to Ray"


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

    def node_shapes(self) -> list[NodeShape]:
        """Return the present nodes: one that left Ray returns as another one, if at all. Raise Unreachable."""
        return shapes_of(self.jobs.nodes())

    def find(self, key: str) -> Observation | None:
        """Return the job of that key, also an ended one, until Ray's head ends. Raise Unreachable."""
        with _disk_errors():
            return self._observe(key, self.jobs.get(key)) if KEY.fullmatch(key) else None

    def submit(self, spec: Spec) -> str:
        """Submit the job and return the key. Raise Rejected, Ambiguous or Unreachable.

        A job of several nodes is held back until Ray has so many: Ray would start its command with fewer.
        """
        if not KEY.fullmatch(spec.key):
            raise Rejected(f"{spec.key!r} is not a valid key: use only letters, digits, - and _")
        nodes = self._nodes() if spec.gpu_type or spec.nodes > 1 else []
        spec = replace(spec, gpu_type=spell_type(spec.gpu_type, nodes))
        note, body = note_of(spec), request(self.site, spec)
        if spec.nodes > 1 and self._is_too_large(note, nodes) and self.jobs.get(spec.key) is None:
            note = replace(note, held=body)
        with _disk_errors():
            write_spec(spec, self.beat_seconds)
            self.notes.put(spec.key, note)
        if note.held is None:
            self.jobs.submit(spec.key, body)
        return spec.key

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """Return all jobs by one query; if one of them waits, a second query reads the nodes. Jobs that were held back
        are submitted if Ray has enough nodes by now. Raise Unreachable."""
        jobs = self.jobs.all()
        own_jobs = {key: jobs.get(key) for key in keys}
        with _disk_errors():
            held = [key for key, job in own_jobs.items() if job is None and self._held_note(key)]
            waits = any(job and job.state == State.QUEUED for job in own_jobs.values())
            nodes = self._nodes() if held or waits else []
            return {
                key: self._submit_held(key, nodes) if key in held else self._observe(key, job, nodes)
                for key, job in own_jobs.items()
            }

    def withdraw(self, keys: Sequence[str]) -> None:
        """Fence those of the jobs that wait, whatever Ray does with them: Ray can neither hold nor remove them, and one
        that it starts later ends immediately. Raise Unreachable."""
        for key in filter(KEY.fullmatch, keys):
            job = self.jobs.get(key)
            with _disk_errors():
                note = self.notes.get(key)
                waits = job.state == State.QUEUED if job is not None else note is not None and note.held is not None
                if note is None or not waits or note.has_begun:
                    continue
                note.fence()
            if job is not None:
                self.jobs.stop(key)

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Ask a running job to stop: Ray ends it after the grace, or else its agent does within a heartbeat. Fence a
        waiting one, whatever Ray does with it. Raise Unreachable."""
        if not KEY.fullmatch(key):
            return
        job = self.jobs.get(key)
        with _disk_errors():
            note = self.notes.get(key) if job is None or not job.state.is_final else None
            if note and (
                (job is None and note.held is not None)
                or (job is not None and job.state == State.QUEUED)
                or (job is not None and self.cancel_requests.seconds_since_first(key) > grace_seconds)
            ):
                note.fence()
        if job is not None and not job.state.is_final:
            self.jobs.stop(key)

    def _nodes(self) -> list[Size]:
        """Return the nodes for the reason of a waiting job; none if they cannot be read, so that the reason is
        shorter."""
        try:
            return self.jobs.nodes()
        except Unreachable as error:
            log.info("Ray: sizes of nodes not read, so reasons of waiting jobs are shorter: %s", error)
            return []

    def _is_too_large(self, note: Note, nodes: Sequence[Size]) -> bool:
        return not self.site.autoscales and note.demand.is_too_large(nodes)

    def _held_note(self, key: str) -> Note | None:
        """Return the note of a job that is held back; None if there is no such job."""
        note = self.notes.get(key) if KEY.fullmatch(key) else None
        return note if note and note.held is not None else None

    def _submit_held(self, key: str, nodes: Sequence[Size]) -> Observation | None:
        """Submit a job that was held back, if Ray has enough nodes and nobody has cancelled it. Raise Unreachable."""
        note = self._held_note(key)
        observation = self._observe(key, None, nodes)
        if note is None or note.held is None or note.is_fenced or not nodes or self._is_too_large(note, nodes):
            return observation
        try:
            self.jobs.submit(key, note.held)
        except Rejected as error:
            note.fence()
            return Observation(State.FAILED, key, HELD, f"Ray refused it: {error}")
        except Ambiguous as error:
            log.info("Ray: %s may have been submitted, the next query shows it: %s", key, error)
        return observation

    def _observe(self, key: str, job: Job | None, nodes: Sequence[Size] = ()) -> Observation | None:
        if job is None:
            return self._observe_waiting(key, HELD, nodes) if self._held_note(key) else None
        if (note := self._held_note(key)) is not None:
            self.notes.put(key, replace(note, held=None))
        if job.state == State.QUEUED:
            return self._observe_waiting(key, job.word, nodes)
        self.waiting_since.remove(key)
        if job.state.is_final:
            self.notes.remove(key)
            self.cancel_requests.remove(key)
        return job.to_observation()

    def _observe_waiting(self, key: str, word: str, nodes: Sequence[Size]) -> Observation:
        note, seconds, max_seconds = (
            self.notes.get(key),
            self.waiting_since.seconds_since_first(key),
            self.site.start_seconds,
        )
        reason = note.demand.waiting_reason(nodes) if note else "waiting to start"
        if note and (is_late := 0 < max_seconds < seconds):
            note.fence()
        if note and note.is_fenced:
            failure = f"given up after {seconds:.0f} s (start_seconds in the cluster's config): it was {reason}"
            cancelled = NOT_SENT if word == HELD else STILL_LISTED
            state, message = (State.FAILED, failure) if is_late else (State.CANCELLED, cancelled)
            return Observation(state, key, word, message)
        native = "not sent to Ray yet" if word == HELD else f"Ray: {word}"
        never = note is not None and self._is_too_large(note, nodes)
        return Observation(State.QUEUED, key, word, f"{reason} ({native})", never_starts=never)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Raise Unreachable if the disk refuses: that says nothing about any job, and the caller tries again later."""
    try:
        yield
    except OSError as error:
        raise Unreachable(f"the notes about jobs cannot be used: {error}") from error
