"""Timeouts of a cluster, which depend on its kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """Timeouts in seconds. The defaults are for this machine, on which files are visible without delay."""

    grace: float = 60.0
    """Time from SIGTERM to SIGKILL, in which the run can save a checkpoint."""
    beat: float = 1.0
    """Time between two heartbeats."""
    settle: float = 10.0
    """Age at which an exit record ends an attempt, even if the cluster does not report the end."""
    exit_record: float = 3.0
    """Time for which an exit record may still arrive after the job's end."""
    ambiguous: float = 5.0
    """Time for which the cluster must report "no such job" before a submit without a reply is repeated."""
    submit: float = 5.0
    """Time after which a job that the cluster refuses for now is submitted again; it doubles with each refusal."""
    submit_longest: float = 300.0
    """Upper limit of the time before a job is submitted again."""
    gone: float = 10.0
    """Time after which an attempt is lost if its cluster does not know it and its heartbeats have stopped."""
    beat_stale: float = 15.0
    """Time without a heartbeat after which esweb reports it."""
    beat_lost: float = 600.0
    """Time without a heartbeat after which an attempt is lost, if the cluster's "running" cannot be trusted."""
    never: float = 1800.0
    """Time after which a job fails if its cluster reports that it will never start."""
    restart: float = 5.0
    """Time before an automatic restart after a failure; it doubles with each restart."""
    restart_longest: float = 300.0
    """Upper limit of the time before an automatic restart."""
    records: float = 300.0
    """Further time for which a restart waits for the failed attempt's records on a remote disk, which may report a
    checkpoint.
    """
    inventory: float = 600.0
    """Time between two reads of the cluster's nodes."""


TIMEOUTS_BY_KIND = {
    "local": Timeouts(),
    # A network file system may show old files for a minute, and the state "completing" may last.
    "slurm": Timeouts(
        beat=15.0,
        settle=60.0,
        exit_record=90.0,
        ambiguous=120.0,
        submit=30.0,
        submit_longest=3600.0,
        gone=300.0,
        beat_stale=90.0,
        restart=15.0,
    ),
    # The dashboard replies from the state of Ray's head node, so "no such job" is immediately reliable.
    "ray": Timeouts(
        beat=15.0,
        settle=60.0,
        exit_record=90.0,
        ambiguous=60.0,
        submit=30.0,
        submit_longest=3600.0,
        gone=300.0,
        beat_stale=90.0,
        restart=15.0,
    ),
}
