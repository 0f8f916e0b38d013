"""Ends of programs that are recorded in the attempts' directories, and not yet stored in the database."""

from __future__ import annotations

import logging

from runs.launching.reconcile.attempt_files import Ending
from runs.launching.reconcile.end_reasons import full_disk, read_last_words
from runs.launching.reconcile.rules import describe_failure
from runs.models import Attempt
from workers.attempt import DISK_FULL, read_json

DONE = "done"
log = logging.getLogger(__name__)


def unstored_end(attempt: Attempt) -> str:
    """Return how the program of an open attempt ended, by its exit record; an empty text if it has none.

    The next tick stores the end. Until then, as on a full disk, the stored state is outdated.
    """
    if not attempt.is_open or attempt.cluster_id is None:
        return ""
    try:
        record = read_json(attempt.directory / "exit.json")
        ending = None if record is None else Ending.from_json(record)
        if ending is None:
            return ""
        if ending.code == DISK_FULL:
            return full_disk(read_last_words(attempt.directory))
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("Page cannot read the exit record of %s: %s", attempt.key, error)
        return ""
    return DONE if ending.code == 0 else describe_failure(ending)
