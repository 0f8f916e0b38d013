"""Export of a run: its attempts as folders, with a README and code that loads them, as a zip that is sent as it is
made."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

from django.db import connection
from django.utils.translation import gettext

from runs.exporting.attempt_folder import Parts, attempt_members
from runs.exporting.site_facts import run_facts
from runs.exporting.zip_stream import Member, zip_pieces
from runs.http import SlotsBusy, ThreadedStream
from runs.http.user_slots import Reader, UserSlots
from runs.models import Run
from runs.models.experiment import Person

TEXTS = Path(__file__).with_name("files")
README, LOADER = "README.md", "load.py"
ZIP = "application/zip"
MAX_CONCURRENT, PER_USER, PATIENCE_SECONDS = 4, 1, 3.0
"""Exports that a process sends at the same time, those of one user, and how long another one waits."""


class ExportsBusy(SlotsBusy):
    """No slot became free in time."""

    @property
    def detail(self) -> str:
        return gettext("Another export is being sent to you, or several to others. Try again when it has arrived.")


slots = UserSlots(MAX_CONCURRENT, PATIENCE_SECONDS, ExportsBusy, per_user=PER_USER)


def run_members(run: Run, folder: str, parts: Parts, person: Person) -> Iterator[Member]:
    """Yield the folders of a run's attempts, as this user may see them."""
    parent = run.parent if run.parent and Run.objects.visible_to(person).contains(run.parent) else None
    facts = run_facts(run, parent.uid if parent else "")
    for attempt in run.attempts.select_related("run", "cluster").order_by("n"):
        yield from attempt_members(attempt, facts, f"{folder}/{attempt.key}", parts)


def text_members(folder: str) -> Iterator[Member]:
    """Yield the README and the code that loads the data."""
    for name in (README, LOADER):
        yield Member(f"{folder}/{name}", [(TEXTS / name).read_bytes()])


def run_archive(run: Run, parts: Parts, person: Person) -> Iterator[Member]:
    """Yield all files of a run's export."""
    folder = file_stem(run)
    yield from text_members(folder)
    yield from run_members(run, folder, parts, person)


def file_stem(run: Run) -> str:
    """Return the name of the export's file, without its extension."""
    return f"esweb-run-{run.uid}"


def send_archive(members: Iterable[Member], stem: str, reader: Reader) -> ThreadedStream:
    """Return a response that sends the files as a zip. Raise ExportsBusy."""
    response = ThreadedStream(_occupying(zip_pieces(members), reader), ZIP)
    response["Content-Disposition"] = f'attachment; filename="{stem}.zip"'
    # The middleware must not compress what is compressed.
    response["Content-Encoding"] = "identity"
    return response


def _occupying(pieces: Iterator[bytes], reader: Reader) -> Generator[bytes, None, None]:
    """Yield the pieces while a slot is held."""
    with slots.occupied(reader):
        for piece in pieces:
            if not connection.in_atomic_block:
                # Sending may take an hour, which is too long to occupy one of a few connections to the database.
                connection.close()
            yield piece
