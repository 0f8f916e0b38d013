"""The executor. A job's submission id is the attempt's key, which Ray gives to one job alone.

What Ray calls running is not believed without a heartbeat: when the part of Ray on a job's node dies, nobody else in
Ray notices. When its head dies, Ray forgets all jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from workers.executors.asked import Asked
from workers.executors.base import KEY, Observation, Rejected, Spec, Unreachable
from workers.executors.ray.answers import Job
from workers.executors.ray.jobs import Jobs
from workers.executors.ray.kept import Kept
from workers.executors.ray.request import request
from workers.executors.ray.site import Site
from workers.executors.starting import write_spec
from workers.executors.states import State

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
        """All jobs by one question. Raises Unreachable."""
        found = self.jobs.all()
        with _keeping():
            return {key: self._seen(found.get(key)) for key in keys}

    def cancel(self, key: str, grace_seconds: float) -> None:
        """One that runs is asked to stop: Ray ends it after the grace, and where Ray does not, its agent does within a
        beat. One that waits is shut out, whatever Ray makes of it. Raises Unreachable."""
        if not KEY.fullmatch(key) or (job := self.jobs.get(key)) is None or job.state.is_final:
            return
        with _keeping():
            if (note := self.kept.get(key)) and (job.state == State.QUEUED or self.asked.seconds(key) > grace_seconds):
                note.shut_out()
        self.jobs.stop(key)

    def _seen(self, job: Job | None) -> Observation | None:
        if job is None:
            return None
        if job.state == State.QUEUED:
            return self._waiting(job)
        self.waited.forget(job.key)
        if job.state.is_final:
            self.kept.forget(job.key)
            self.asked.forget(job.key)
        return job.observed()

    def _waiting(self, job: Job) -> Observation:
        note, seconds, most = self.kept.get(job.key), self.waited.seconds(job.key), self.site.start_seconds
        if note and note.is_shut_out:
            return Observation(State.CANCELLED, job.key, job.word, STILL_LISTED)
        what = note.in_words() if note else "what it asks for"
        if note and most and seconds > most:
            note.shut_out()
            why = f"it has waited {seconds:.0f} s for {what}, and start_seconds of the cluster's config is {most}"
            if note.is_shut_out:
                return Observation(State.FAILED, job.key, job.word, why)
        return Observation(State.QUEUED, job.key, job.word, f"waiting for {what}, or to be started (Ray: {job.word})")


@contextmanager
def _keeping() -> Iterator[None]:
    """What the disk refuses says nothing about any job: it is asked again later."""
    try:
        yield
    except OSError as error:
        raise Unreachable(f"what is kept of jobs cannot be used: {error}") from error
