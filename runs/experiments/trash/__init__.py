"""Archive, delete, restore and purge experiments and runs."""

from runs.experiments.trash.commands import (
    archive,
    archive_runs,
    delete_experiment,
    delete_run,
    delete_runs,
    purge_trash,
    restore,
    restore_runs,
    tag_runs,
    unarchive,
    unarchive_runs,
    untag_runs,
)

__all__ = [
    "archive",
    "archive_runs",
    "delete_experiment",
    "delete_run",
    "delete_runs",
    "purge_trash",
    "restore",
    "restore_runs",
    "tag_runs",
    "unarchive",
    "unarchive_runs",
    "untag_runs",
]
