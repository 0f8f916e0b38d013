"""The executor: sbatch, squeue, sacct and scancel.

A job is known by its name, which is the attempt's key, and never by its number: Slurm gives numbers out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from workers.attempt import TOKEN_FILES, write_whole
from workers.executors.asked import Asked
from workers.executors.base import KEY, Ambiguous, NotBegun, Observation, Rejected, Spec, Unreachable
from workers.executors.places import Place, SharedDisk
from workers.executors.shell import Answer, LocalShell
from workers.executors.slurm.answers import SACCT_FORMAT, SQUEUE_FORMAT, Row, of_each, refusal, rows
from workers.executors.slurm.job import SCRIPT, SCRIPT_FILE, array_argv, array_name, naming, sbatch_argv
from workers.executors.slurm.site import Site
from workers.executors.starting import write_spec

TIMEOUT_SECONDS = 30.0
"""A controller that is down is noticed by Slurm's own commands in half of that."""
NAMES_AT_ONCE, SCANCELS_AT_ONCE = 200, 4
"""Of jobs that are cancelled by one command, and of them at a time."""
ARRAYS = "arrays"
"""The folder, beside those of all runs, that holds the links of arrays."""
REMEMBERED = "now-30days"
"""So far back the accounting is asked about jobs that the controller has forgotten."""


class Slurm:
    """A cluster whose commands `place` runs. `root` keeps what must outlive this process."""

    trust_running = True

    def __init__(self, site: Site, root: Path, beat_seconds: float = 15.0, place: Place | None = None) -> None:
        self.site, self.beat_seconds, self.asked = site, beat_seconds, Asked(root / "asked")
        self.place = place or SharedDisk(LocalShell(site.client_env))

    def find(self, key: str) -> Observation | None:
        """The job of that name, also one that has ended where Slurm still knows. Raises Unreachable.

        What is left of an array whose submitter died in the middle goes on: a task with this name is let go, those that
        have none leave the queue.
        """
        rows = self._queue([key])
        for row in rows:
            if row.name == key and row.is_held_task:
                self._ask(("scontrol", "release", row.native_id))
        if any(row.name == array_name(key) and not row.state.is_final for row in rows):
            self._withdraw([array_name(key)])
        return self._observed(rows, [key])[key]

    def submit(self, spec: Spec) -> str:
        """Submits and returns Slurm's number. Raises Rejected, Ambiguous or Unreachable."""
        site, (there,) = self._prepared([spec])
        return self._submitted(sbatch_argv(site, there))

    def submit_together(self, specs: Sequence[Spec]) -> dict[str, str]:
        """Key -> Slurm's number, of jobs that ask for the same, by one sbatch. One that is missing is not submitted.

        Raises Rejected, Ambiguous or Unreachable.
        """
        site, there = self._prepared(specs)
        self._refuse_what_never_fits(sbatch_argv(site, there[0]))
        name = array_name(specs[0].key)
        folder = specs[0].directory.parents[1] / ARRAYS / name
        self.place.link(folder, [spec.directory for spec in specs])
        number = self._submitted(array_argv(site, there, name, self.place.there(folder)))
        try:
            return self._named(number, name, [spec.key for spec in specs])
        except Unreachable as error:
            raise Ambiguous(f"array {number} was not named: {error}") from error

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        """All jobs by one squeue, and by one sacct those that squeue does not know. Raises Unreachable."""
        wanted = list(keys)
        return self._observed(self._queue(wanted), wanted) if wanted else {}

    def _observed(self, rows: Sequence[Row], wanted: Sequence[str]) -> dict[str, Observation | None]:
        found = of_each(rows, wanted)
        if absent := [key for key in wanted if key not in found]:
            found |= of_each(self._accounting(absent), absent)
        seen = {key: row.observed() for key, row in found.items()}
        self._forget(key for key, one in seen.items() if one.state.is_final)
        return {key: seen.get(key) for key in wanted}

    def open_jobs(self, prefix: str) -> dict[str, Observation]:
        """Name -> job, of all of this account's that begin so and wait or run. Raises Unreachable."""
        found = [row for row in self._queue(()) if row.name.startswith(prefix) and not row.state.is_final]
        return {name: row.observed() for name, row in of_each(found, {row.name for row in found}).items()}

    def cancel(self, key: str, grace_seconds: float) -> None:
        """One that waits leaves the queue. One that runs is asked to stop, and ended after the grace. By name, so that
        both of a job submitted twice are meant, and never a stranger's. Raises Unreachable."""
        self.cancel_together([key], grace_seconds)

    def cancel_together(self, keys: Sequence[str], grace_seconds: float) -> None:
        """`cancel` of many, in a few commands. All that wait leave the queue before any that runs is asked to stop, in
        whose place they would start. Raises Unreachable."""
        try:
            over = [key for key in keys if self.asked.seconds(key) >= grace_seconds]
        except OSError as error:
            raise Unreachable(f"what was asked of jobs cannot be kept: {error}") from error
        self._scancel(keys, "--state=PENDING")
        self._scancel([key for key in keys if key not in over], "--signal=TERM", "--batch")
        self._scancel(over)

    def _prepared(self, specs: Sequence[Spec]) -> tuple[Site, list[Spec]]:
        """What their directories are called there, and the code's. Raises Rejected or Unreachable."""
        if wrong := next((spec.key for spec in specs if not KEY.fullmatch(spec.key)), ""):
            raise Rejected(f"{wrong!r} is no key: letters, digits, - and _ only")
        self._make_directories(specs)
        site = replace(self.site, project=self.place.project(self.site.project))
        return site, [replace(spec, directory=Path(self.place.there(spec.directory))) for spec in specs]

    def _refuse_what_never_fits(self, argv: Sequence[str]) -> None:
        """Of jobs that are held Slurm would take any, and only wait then. Raises Rejected or Unreachable."""
        answer = self.place.run([argv[0], "--test-only", *argv[1:]], TIMEOUT_SECONDS)
        if answer.code != 0 and (why := refusal(answer.err)):
            raise Rejected(why + self._choices(why))
        _out(argv, answer)

    def _submitted(self, argv: Sequence[str]) -> str:
        try:
            answer = self.place.run(argv, TIMEOUT_SECONDS)
        except NotBegun:
            raise
        except Unreachable as error:
            raise Ambiguous(str(error)) from error
        return self._number(answer)

    def _named(self, number: str, name: str, keys: Sequence[str]) -> dict[str, str]:
        """Lets each task go under its job's own name; those of which that did not work have never begun, and are
        cancelled."""
        self.place.run(("scontrol",), TIMEOUT_SECONDS, naming(number, keys))
        mine = {row.name: row for row in self._queue(()) if row.name in keys and row.native_id.startswith(f"{number}_")}
        gone = {key: row.native_id for key, row in mine.items() if not row.is_held_task}
        if left := [key for key in keys if key not in gone]:
            self._withdraw([name, *left])
        return gone

    def _withdraw(self, names: Sequence[str]) -> None:
        """Takes tasks that were never let go out of the queue."""
        self._scancel(names, "--state=PENDING")

    def _scancel(self, names: Sequence[str], *options: str) -> None:
        """Slurm takes one name at a time. Over SSH each question costs a quarter of a second, so many go as one."""
        if len(names) == 1:
            self._ask(("scancel", "--me", f"--name={names[0]}", *options))
            return
        each = ("xargs", "-P", str(SCANCELS_AT_ONCE), "-I", "{}", "scancel", "--me", "--name={}", *options)
        for n in range(0, len(names), NAMES_AT_ONCE):
            text = "".join(f"{name}\n" for name in names[n : n + NAMES_AT_ONCE])
            _out(each, self.place.run(each, TIMEOUT_SECONDS, text))

    def _number(self, answer: Answer) -> str:
        number = answer.out.strip().partition(";")[0]
        if answer.code == 0 and number.isdecimal():
            return number
        said = answer.err.strip() or answer.out.strip()
        if answer.code != 0 and (why := refusal(said)):
            raise Rejected(why + self._choices(why))
        raise Ambiguous(said or f"sbatch ended with {answer.code} and said nothing")

    def _choices(self, why: str) -> str:
        """The partitions there are, where that is what was wrong."""
        if "partition" not in why.lower():
            return ""
        try:
            names = self._ask(("sinfo", "--noheader", "--format=%R")).split()
        except Unreachable:
            return ""
        return f" (there are {', '.join(sorted(set(names)))})"

    def _make_directories(self, specs: Sequence[Spec]) -> None:
        """Raises Unreachable."""
        files: list[Path] = []
        try:
            for spec in specs:
                write_spec(spec, self.beat_seconds)
                write_whole(spec.directory / SCRIPT_FILE, SCRIPT)
                files += [spec.directory / name for name in ("spec.json", SCRIPT_FILE, "run.json", *TOKEN_FILES)]
            self.place.send([file for file in files if file.exists()])
        except OSError as error:
            raise Unreachable(f"the job's directory cannot be written: {error}") from error

    def _queue(self, keys: Sequence[str]) -> list[Row]:
        argv = ("squeue", "--me", "--noheader", "--array", "--states=all", f"--format={SQUEUE_FORMAT}")
        return _read(_out(argv, self.place.look(argv, keys, TIMEOUT_SECONDS)))

    def _accounting(self, keys: Sequence[str]) -> list[Row]:
        """How those ended that the controller has forgotten; nothing where there is no accounting, or it is away.

        What it calls running is not believed: a job that the controller lost runs there for ever.
        """
        about = (f"--name={','.join(keys)}", f"--starttime={REMEMBERED}", f"--format={SACCT_FORMAT}")
        try:
            answer = self.place.run(("sacct", "--noheader", "--parsable2", "--allocations", *about), TIMEOUT_SECONDS)
        except Unreachable:
            return []
        return [row for row in _read(answer.out) if row.state.is_final] if answer.code == 0 else []

    def _ask(self, argv: Sequence[str]) -> str:
        return _out(argv, self.place.run(argv, TIMEOUT_SECONDS))

    def _forget(self, ended: Iterable[str]) -> None:
        for key in ended:
            self.asked.forget(key)


def _out(argv: Sequence[str], answer: Answer) -> str:
    if answer.code != 0:
        raise Unreachable(f"{argv[0]}: {answer.err.strip()[-500:] or f'ended with {answer.code}'}")
    return answer.out


def _read(text: str) -> list[Row]:
    try:
        return rows(text)
    except ValueError as error:
        raise Unreachable(f"Slurm's answer cannot be read: {error}") from error
