"""Beat's schedule on a machine whose clock may be set back: what was done "in the future" is due again by then."""

from __future__ import annotations

from typing import Any

from celery import beat


class Scheduler(beat.Scheduler):  # type: ignore[misc]
    """Celery's own would send nothing until the clock has caught up with the last time that it did."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Sends what is due; seconds until the next look."""
        now = self.app.now()
        ahead = [entry for entry in self.schedule.values() if entry.last_run_at > now]
        for entry in ahead:
            entry.last_run_at = now
        if ahead:
            self._heap = None  # it holds times of the old clock, and is made anew where there is none
        wait: float = super().tick(*args, **kwargs)
        return wait
