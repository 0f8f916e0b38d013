"""The executor. A job's submission id is the attempt's key, which Ray gives to one job alone.

What Ray calls running is not believed without a heartbeat: when the part of Ray on a job's node dies, nobody else in
Ray notices. When its head dies, Ray forgets all jobs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from workers.executors.asked import Asked
from workers.executors.base import KEY, Observation, Rejected, Spec, Unreachable
from workers.executors.ray.answers import Job
from workers.executors.ray.jobs import Jobs
from workers.executors.ray.kept import Kept
from workers.executors.ray.nodes import Size, is_too_large, why_it_waits
from workers.executors.ray.request import request
from workers.executors.ray.site import Site
from workers.executors.starting import write_spec
from workers.executors.states import State

log = logging.getLogger(__name__)

STILL_LISTED = "cancelled while it waited; Ray cannot be told so, and lists it until it would start, which ends it"


class Ray:
    """A cluster whose dashboard is asked over HTTP. `root` keeps what must outlive this process."""

    trust_running = False

    def __init__(self, site: Site, root: Path, beat_seconds: float = 15.0) -> None:
        self.site, self.beat_seconds = site, beat_seconds
        self.jobs = Jobs(site.dashboard, site.token_file)
        self.kept, self.asked, self.waited = Kept(root / "jobs"), Asked(root / "asked"), Asked(root / "waited")

    def find(self, key: str) -> Observation | None:
        """The job of that key, also one that has ended, until Ray's head does. Raises Unreachable."""
        with _keeping():
            return self._seen(self.jobs.get(key)) if KEY.fullmatch(key) else None

    def submit(self, spec: Spec) -> str:
        """Submits and returns the key. Raises Rejected, Ambiguous or Unreachable."""
        if not KEY.fullmatch(spec.key):
            raise Rejected(f"{spec.key!r} is no key: letters, digits, - and _ only")
        with _keeping():
            write_spec(spec, self.beat_seconds)
            self.kept.put(spec)
        self.jobs.submit(spec.key, request(self.site, spec))
        return spec.key

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """All jobs by one question, and by another where one waits what nodes there are. Raises Unreachable."""
        found = self.jobs.all()
        mine = {key: found.get(key) for key in keys}
        nodes = self._nodes() if any(job and job.state == State.QUEUED for job in mine.values()) else []
        with _keeping():
            return {key: self._seen(job, nodes) for key, job in mine.items()}

    def cancel(self, key: str, grace_seconds: float) -> None:
        """One that runs is asked to stop: Ray ends it after the grace, and where Ray does not, its agent does within a
        beat. One that waits is shut out, whatever Ray makes of it. Raises Unreachable."""
        if not KEY.fullmatch(key) or (job := self.jobs.get(key)) is None or job.state.is_final:
            return
        with _keeping():
            if (note := self.kept.get(key)) and (job.state == State.QUEUED or self.asked.seconds(key) > grace_seconds):
                note.shut_out()
        self.jobs.stop(key)

    def _nodes(self) -> list[Size]:
        """For words about what waits: where they cannot be had, fewer words are said."""
        try:
            return self.jobs.nodes()
        except Unreachable as error:
            log.info("why jobs wait is not known: %s", error)
            return []

    def _seen(self, job: Job | None, nodes: Sequence[Size] = ()) -> Observation | None:
        if job is None:
            return None
        if job.state == State.QUEUED:
            return self._waiting(job, nodes)
        self.waited.forget(job.key)
        if job.state.is_final:
            self.kept.forget(job.key)
            self.asked.forget(job.key)
        return job.observed()

    def _waiting(self, job: Job, nodes: Sequence[Size]) -> Observation:
        note, seconds, most = self.kept.get(job.key), self.waited.seconds(job.key), self.site.start_seconds
        why = why_it_waits(note.size, nodes) if note else "waiting to be started"
        if note and (is_late := 0 < most < seconds):
            note.shut_out()
        if note and note.is_shut_out:
            given_up = f"given up after {seconds:.0f} s (start_seconds in the cluster's config): it was {why}"
            state, said = (State.FAILED, given_up) if is_late else (State.CANCELLED, STILL_LISTED)
            return Observation(state, job.key, job.word, said)
        never = note is not None and is_too_large(note.size, nodes)
        return Observation(State.QUEUED, job.key, job.word, f"{why} (Ray: {job.word})", never_starts=never)


@contextmanager
def _keeping() -> Iterator[None]:
    """What the disk refuses says nothing about any job: it is asked again later."""
    try:
        yield
    except OSError as error:
        raise Unreachable(f"what is kept of jobs cannot be used: {error}") from error
