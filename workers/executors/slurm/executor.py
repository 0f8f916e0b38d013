"""Slurm executor: sbatch, squeue, sacct and scancel.

A job is known by its name, which is the attempt's key, and never by its number: Slurm reuses numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from workers.attempt import TOKEN_FILES, is_disk_full, write_whole
from workers.executors.agent_start import write_spec
from workers.executors.base import (
    KEY,
    Ambiguous,
    DiskFull,
    NodeShape,
    NotBegun,
    Observation,
    Postponed,
    Rejected,
    Spec,
    Unreachable,
)
from workers.executors.cancel_requests import CancelRequests
from workers.executors.shell import Late, LocalShell, Reply
from workers.executors.slurm.inventory import SINFO, count_shards, parse_nodes
from workers.executors.slurm.job import SCRIPT, SCRIPT_FILE, array_argv, array_name, naming_commands, sbatch_argv
from workers.executors.slurm.refusals import Meaning, Refusal, read_refusal
from workers.executors.slurm.replies import SACCT_FORMAT, SQUEUE_FORMAT, Row, latest_rows, rows
from workers.executors.slurm.site import Site
from workers.executors.states import Obstacle
from workers.executors.submit_hosts import SharedDisk, SubmitHost

TIMEOUT_SECONDS = 30.0
"""Slurm's own commands notice within half of this time that a controller is down."""
SCANCEL_BATCH_SIZE, MAX_CONCURRENT_SCANCELS = 200, 4
"""Number of jobs that one command cancels, and of concurrent scancel processes."""
WAITING = "--state=PENDING"
"""Option of scancel: only waiting jobs."""
ARRAYS = "arrays"
"""Folder with the links of arrays, in the same parent as the folders of all runs."""
NO_SHARDS = (
    "the nodes that the run may use have no shards of GPUs (gres shard of Slurm), so runs cannot share one: set "
    "compute.gpus to a whole number"
)
ACCOUNTING_START = "now-30days"
"""Start of the period for which the accounting is queried about jobs that the controller has forgotten."""


class Slurm:
    """A cluster whose commands `host` runs. `root` stores what must outlive this process."""

    trust_running = True

    def __init__(self, site: Site, root: Path, beat_seconds: float = 15.0, host: SubmitHost | None = None) -> None:
        self.site, self.beat_seconds, self.cancel_requests = site, beat_seconds, CancelRequests(root / "asked")
        self.host = host or SharedDisk(LocalShell(site.client_env))

    def node_shapes(self) -> list[NodeShape]:
        """Return the nodes of all partitions, in any state. Raise Unreachable."""
        try:
            return parse_nodes(self._ask(SINFO))
        except ValueError as error:
            raise Unreachable(f"Slurm's list of nodes cannot be read: {error}") from error

    def find(self, key: str) -> Observation | None:
        """Return the job of that name, also an ended one if Slurm still knows it. Raise Unreachable.

        Remove from the queue what is left of an array whose submitter died in the middle: its unnamed tasks.
        """
        rows = self._queue([key])
        if any(row.name == array_name(key) and not row.state.is_final for row in rows):
            self._scancel([array_name(key)], WAITING)
        return self._observe(rows, [key])[key]

    def submit(self, spec: Spec) -> str:
        """Submit the job and return Slurm's number. Raise Rejected, Postponed, Ambiguous or Unreachable."""
        site, (cluster_specs,) = self._prepare([spec])
        return self._submit(sbatch_argv(site, cluster_specs, self._shards(spec)), spec.key)

    def submit_together(self, specs: Sequence[Spec]) -> dict[str, str]:
        """Submit jobs with equal requests by one sbatch. Return key -> Slurm's number; a missing key is not submitted.

        Raise Rejected, Postponed, Ambiguous or Unreachable.
        """
        site, cluster_specs = self._prepare(specs)
        shards = self._shards(specs[0])
        self._reject_unsatisfiable(sbatch_argv(site, cluster_specs[0], shards))
        name = array_name(specs[0].key)
        folder = specs[0].directory.parents[1] / ARRAYS / name
        self.host.link(folder, [spec.directory for spec in specs])
        number = self._submit(array_argv(site, cluster_specs, name, self.host.cluster_path(folder), shards), name)
        try:
            return self._name_tasks(number, name, [spec.key for spec in specs])
        except Unreachable as error:
            raise Ambiguous(f"array {number} could not be renamed: {error}") from error

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """Return all jobs by one squeue, and by one sacct those that squeue does not know. Raise Unreachable."""
        requested = list(keys)
        return self._observe(self._queue(requested), requested) if requested else {}

    def _observe(self, rows: Sequence[Row], keys: Sequence[str]) -> dict[str, Observation | None]:
        rows_by_key = latest_rows(rows, keys)
        if absent := [key for key in keys if key not in rows_by_key]:
            rows_by_key |= latest_rows(self._accounting(absent), absent)
        observations = {key: row.to_observation() for key, row in rows_by_key.items()}
        self._remove_requests(key for key, observation in observations.items() if observation.state.is_final)
        return {key: observations.get(key) for key in keys}

    def open_jobs(self, prefix: str) -> dict[str, Observation]:
        """Return name -> job, of all waiting or running jobs of this account whose names begin so. Raise
        Unreachable."""
        open_rows = [row for row in self._queue(()) if row.name.startswith(prefix) and not row.state.is_final]
        return {
            name: row.to_observation() for name, row in latest_rows(open_rows, {row.name for row in open_rows}).items()
        }

    def withdraw(self, keys: Sequence[str]) -> None:
        """Remove the pending ones from the queue. Slurm itself leaves the others alone. Raise Unreachable."""
        self._scancel(keys, WAITING)

    def cancel(self, key: str, grace_seconds: float) -> None:
        """Remove a waiting job from the queue. Ask a running one to stop, and end it after the grace. Jobs are selected
        by name, so that both copies of a job submitted twice are meant, and never another job. Raise Unreachable."""
        self.cancel_together([key], grace_seconds)

    def cancel_together(self, keys: Sequence[str], grace_seconds: float) -> None:
        """Cancel many jobs in a few commands. All waiting ones leave the queue before any running one is asked to stop,
        since they would start in its place. Raise Unreachable."""
        try:
            overdue = [key for key in keys if self.cancel_requests.seconds_since_first(key) >= grace_seconds]
        except OSError as error:
            raise Unreachable(f"requests about jobs cannot be saved: {error}") from error
        self._scancel(keys, WAITING)
        self._scancel([key for key in keys if key not in overdue], "--signal=TERM", "--batch")
        self._scancel(overdue)

    def _prepare(self, specs: Sequence[Spec]) -> tuple[Site, list[Spec]]:
        """Write the jobs' directories. Return site and specs with the cluster's paths of the code and of the
        directories. Raise Rejected, Postponed or Unreachable."""
        if invalid_key := next((spec.key for spec in specs if not KEY.fullmatch(spec.key)), ""):
            raise Rejected(f"{invalid_key!r} is not a valid key: use only letters, digits, - and _")
        try:
            self._make_directories(specs)
            site = replace(self.site, project=self.host.project(self.site.project))
        except DiskFull as error:
            raise Postponed(f"a disk is full, or a quota used up: {error}", Obstacle.CLUSTER) from error
        return site, [replace(spec, directory=Path(self.host.cluster_path(spec.directory))) for spec in specs]

    def _shards(self, spec: Spec) -> int:
        """Return the shards that a job with a share of a GPU requests; 0 for any other job. Raise Rejected, or NotBegun
        if Slurm does not list its nodes."""
        if spec.gpus == int(spec.gpus):
            return 0
        try:
            shapes = self.node_shapes()
        except Unreachable as error:
            raise NotBegun(str(error)) from error
        site = self.site
        shards = count_shards(shapes, spec.gpus, spec.gpu_type or site.gpu_type, spec.partition or site.partition)
        if not shards:
            raise Rejected(NO_SHARDS)
        return shards

    def _reject_unsatisfiable(self, argv: Sequence[str]) -> None:
        """Test a submit first: Slurm lets any job wait that begins later. Raise Rejected, Postponed or Unreachable."""
        reply = self.host.run([argv[0], "--test-only", *argv[1:]], TIMEOUT_SECONDS)
        if reply.code != 0:
            refusal = read_refusal(reply.err)
            if refusal.meaning != Meaning.UNKNOWN:
                raise self._refused(refusal)
        _out(argv, reply)

    def _submit(self, argv: Sequence[str], name: str) -> str:
        """Run sbatch and return the number of this job. Raise Rejected, Postponed, Ambiguous or NotBegun."""
        try:
            reply = self.host.run(argv, TIMEOUT_SECONDS)
        except NotBegun:
            raise
        except Late as error:
            raise Ambiguous(str(error), read_refusal(error.err).obstacle) from error
        except Unreachable as error:
            raise Ambiguous(str(error)) from error
        number = reply.out.strip().partition(";")[0]
        if reply.code == 0 and number.isdecimal():
            return number
        if reply.code == 0 or number.isdecimal():
            # A plug-in of sbatch may fail after the job was taken.
            raise Ambiguous(reply.err.strip() or reply.out.strip() or "sbatch printed no number")
        return self._resolve(read_refusal(reply.err.strip() or reply.out.strip()), reply.code, name)

    def _resolve(self, refusal: Refusal, code: int, name: str) -> str:
        """Return the number of the job of that name if it exists although sbatch reported an error.

        Words that leave open if the job was refused count as a refusal only after the cluster has answered that there
        is no such job. Raise Rejected, Postponed or Ambiguous.
        """
        if refusal.meaning == Meaning.UNKNOWN:
            raise Ambiguous(str(refusal) or f"sbatch failed with code {code} and no message", refusal.obstacle)
        if refusal.meaning == Meaning.PERHAPS:
            try:
                observation = self._observe(self._queue([name]), [name])[name]
            except Unreachable as error:
                raise Ambiguous(f"{refusal}; and whether the job exists is unknown: {error}") from error
            if observation is not None:
                return observation.native_id
        raise self._refused(refusal)

    def _refused(self, refusal: Refusal) -> Rejected:
        """Return the exception for a job that was certainly not submitted."""
        if refusal.meaning == Meaning.FOR_NOW and refusal.obstacle is not None:
            return Postponed(str(refusal), refusal.obstacle)
        return Rejected(refusal.words + self._choices(refusal.words))

    def _name_tasks(self, number: str, name: str, keys: Sequence[str]) -> dict[str, str]:
        """Let each task begin under its job's name. Cancel the tasks for which that failed; they have never begun."""
        self.host.run(("scontrol",), TIMEOUT_SECONDS, naming_commands(number, keys))
        named_rows = [row for row in self._queue(()) if row.name in keys and row.native_id.startswith(f"{number}_")]
        if len(named_rows) < len(keys):
            self._scancel([name], WAITING)
        return {row.name: row.native_id for row in named_rows}

    def _scancel(self, names: Sequence[str], *options: str) -> None:
        """Cancel jobs by name. Slurm takes one name at a time, and over SSH each command costs a quarter of a second,
        so many names are sent as one command."""
        if len(names) == 1:
            self._ask(("scancel", "--me", f"--name={names[0]}", *options))
            return
        command = ("xargs", "-P", str(MAX_CONCURRENT_SCANCELS), "-I", "{}", "scancel", "--me", "--name={}", *options)
        for n in range(0, len(names), SCANCEL_BATCH_SIZE):
            text = "".join(f"{name}\n" for name in names[n : n + SCANCEL_BATCH_SIZE])
            _out(command, self.host.run(command, TIMEOUT_SECONDS, text))

    def _choices(self, reason: str) -> str:
        """Return the existing partitions if the reason is a wrong partition; else an empty text."""
        if "partition" not in reason.lower():
            return ""
        try:
            names = self._ask(("sinfo", "--noheader", "--format=%R")).split()
        except Unreachable:
            return ""
        return f" (there are {', '.join(sorted(set(names)))})"

    def _make_directories(self, specs: Sequence[Spec]) -> None:
        """Write the jobs' directories and send their files to the cluster. Raise Unreachable; DiskFull for that
        reason."""
        files: list[Path] = []
        try:
            for spec in specs:
                write_spec(spec, self.beat_seconds)
                write_whole(spec.directory / SCRIPT_FILE, SCRIPT)
                files += [spec.directory / name for name in ("spec.json", SCRIPT_FILE, "run.json", *TOKEN_FILES)]
            self.host.send([file for file in files if file.exists()])
        except OSError as error:
            exception = DiskFull if is_disk_full(error) else NotBegun
            raise exception(f"the job's directory cannot be written: {error}") from error

    def _queue(self, keys: Sequence[str]) -> list[Row]:
        argv = ("squeue", "--me", "--noheader", "--array", "--states=all", f"--format={SQUEUE_FORMAT}")
        return _read(_out(argv, self.host.run_and_fetch(argv, keys, TIMEOUT_SECONDS)))

    def _accounting(self, keys: Sequence[str]) -> list[Row]:
        """Return the jobs that ended and that the controller has forgotten; none if there is no accounting or it is
        away.

        RUNNING from the accounting is not believed: a job that the controller lost runs there for ever.
        """
        about = (f"--name={','.join(keys)}", f"--starttime={ACCOUNTING_START}", f"--format={SACCT_FORMAT}")
        try:
            reply = self.host.run(("sacct", "--noheader", "--parsable2", "--allocations", *about), TIMEOUT_SECONDS)
        except Unreachable:
            return []
        return [row for row in _read(reply.out) if row.state.is_final] if reply.code == 0 else []

    def _ask(self, argv: Sequence[str]) -> str:
        return _out(argv, self.host.run(argv, TIMEOUT_SECONDS))

    def _remove_requests(self, ended: Iterable[str]) -> None:
        for key in ended:
            self.cancel_requests.remove(key)


def _out(argv: Sequence[str], reply: Reply) -> str:
    if reply.code != 0:
        raise Unreachable(f"{argv[0]}: {reply.err.strip()[-500:] or f'failed with code {reply.code}'}")
    return reply.out


def _read(text: str) -> list[Row]:
    try:
        return rows(text)
    except ValueError as error:
        raise Unreachable(f"Slurm's reply cannot be read: {error}") from error
