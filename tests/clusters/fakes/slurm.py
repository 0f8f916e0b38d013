"""Slurm's commands in memory. Options are read as Slurm reads them, and replies are what Slurm 22.05 prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.clusters.fakes import agent
from tests.clusters.slurm.config import CORES, GPU_SHARDS, GPU_TYPES, GPUS, MEMORY_MB, NODES
from workers.executors.base import Unreachable
from workers.executors.shell import LocalShell, Reply
from workers.executors.slurm.job import SCRIPT

PARTITIONS = ("main", "short", "low", "lowgrace", "high")
ACCOUNTS = ("", "lab")
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
AWAY = "Unable to contact slurm controller (connect failure)"
OPTIONS = {
    "sbatch": (
        "--test-only", "--parsable", "--job-name", "--chdir", "--output", "--array", "--begin", "--comment",
        "--open-mode", "--no-requeue", "--dependency", "--export", "--signal", "--nodes", "--ntasks-per-node",
        "--cpus-per-task", "--no-kill", "--gres", "--mem", "--time", "--partition", "--account", "--qos",
        "--constraint", "--exclusive",
    ),
    "squeue": ("--me", "--noheader", "--array", "--states", "--format"),
    "sacct": ("--noheader", "--parsable2", "--allocations", "--name", "--starttime", "--format"),
    "scancel": ("--me", "--name", "--state", "--signal", "--batch"),
    "sinfo": ("--noheader", "--Node", "--format"),
}  # fmt: skip
OPEN = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED")


@dataclass
class FakeJob:
    """A job, as Slurm stores it. `may_begin` is False for a task whose begin is years away."""

    native_id: str
    name: str
    directory: Path
    options: dict[str, str] = field(default_factory=dict)
    state: str = "PENDING"
    reason: str = "Priority"
    node: str = ""
    may_begin: bool = True
    is_ours: bool = True
    signals: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class FakeSlurm:
    """A shell that has Slurm's commands. `before` and `after` hold what happens at the next command of a name."""

    def __init__(self) -> None:
        self.jobs: list[FakeJob] = []
        self.commands: list[list[str]] = []
        self.before: dict[str, Callable[[], None]] = {}
        self.after: dict[str, Callable[[], None]] = {}
        self.replies: dict[str, Reply] = {}
        self.is_away, self.scontrol_lines = False, 1000
        self.max_submitted: int | None = None
        """The QOS's limit of a user's submitted jobs."""
        self.accounted: list[FakeJob] | None = None
        """The jobs that the accounting has recorded; None without accounting."""
        self._numbers = 0

    def run(self, argv: Sequence[str], timeout_seconds: float, text: str = "") -> Reply:
        """Run the command. Other programs than Slurm's are those of this machine."""
        name, *words = argv
        if name not in OPTIONS and name not in ("xargs", "scontrol"):
            return LocalShell().run(argv, timeout_seconds, text)
        self.commands.append([*argv])
        # A question for the version is another one than what follows it.
        about = f"{name} --version" if "--version" in words else name
        self.before.pop(about, lambda: None)()
        reply = self.replies.pop(about, None) or self._run(name, words, text)
        self.after.pop(about, lambda: None)()
        return reply

    def start(self, name: str, node: str = "n1", **more: Any) -> FakeJob:
        """Start the waiting job of that name on a node; its agent begins, unless another one has."""
        job = next(job for job in self.jobs if job.name == name and job.state == "PENDING" and job.may_begin)
        assert not [other for other in self.jobs if other.name == name and other.state == "RUNNING"]
        job.state, job.reason, job.node = "RUNNING", "None", node
        if agent.begin(job.directory.resolve(), **more) is not None:
            job.state, job.reason = "FAILED", "NonZeroExitCode"
        return job

    def finish(self, name: str, code: int | None = 0, *, state: str = "", **record: Any) -> None:
        """End the running job of that name with an exit record."""
        job = self.running(name)
        agent.end(job.directory.resolve(), code, **record)
        self.end(name, state or ("COMPLETED" if code == 0 else "FAILED"), "None" if code == 0 else "NonZeroExitCode")

    def end(self, name: str, state: str, reason: str = "None") -> None:
        """End the running job of that name; its agent records nothing."""
        job = self.running(name)
        job.state, job.reason = state, reason

    def running(self, name: str) -> FakeJob:
        """Return the running job of that name."""
        return next(job for job in self.jobs if job.name == name and job.state == "RUNNING")

    def jobs_of(self, name: str) -> list[FakeJob]:
        """Return the jobs of that name, except those that sbatch refused."""
        return [job for job in self.jobs if job.name == name and job.reason != "BadConstraints"]

    def forget(self) -> None:
        """Let the controller forget all jobs. The accounting, if there is one, remembers them."""
        if self.accounted is not None:
            self.accounted += self.jobs
        self.jobs = []

    def add(self, name: str, state: str = "RUNNING", **more: Any) -> FakeJob:
        """Add a job of another origin."""
        self._numbers += 1
        node = "n3" if state == "RUNNING" else ""
        job = FakeJob(str(self._numbers), name, Path("/nowhere"), state=state, node=node, **more)
        self.jobs.append(job)
        return job

    def count(self, name: str) -> int:
        """Return how often a command ran since `commands` was cleared."""
        return [argv[0] for argv in self.commands].count(name)

    def refuse_submit(self, reason: str) -> None:
        """Let the next sbatch be refused."""
        self.replies["sbatch"] = Reply(1, "", f"sbatch: error: Batch job submission failed: {reason}\n")

    def lose_submit(self) -> None:
        """Let nobody answer the next sbatch, which did not arrive."""
        self.before["sbatch"] = _silence

    def lose_reply_to_submit(self) -> None:
        """Let nobody answer the next sbatch, which arrived."""
        self.after["sbatch"] = _silence

    def _run(self, name: str, words: Sequence[str], text: str) -> Reply:
        if name == "xargs":
            return self._xargs(words, text)
        if "--version" in words:
            return Reply(0, "slurm 22.05.8\n", "")
        if self.is_away:
            return Reply(1, "", f"{name}: error: {AWAY}\n")
        if name == "scontrol":
            return self._scontrol(words, text)
        options, rest = _split(words)
        if unknown := options.keys() - set(OPTIONS[name]):
            return Reply(1, "", f"{name}: unrecognized option '{min(unknown)}'\n")
        reply: Reply = getattr(self, f"_{name}")(options, rest)
        return reply

    def _sbatch(self, options: dict[str, str], rest: Sequence[str]) -> Reply:
        if reason := self._refusal(options):
            # Slurm stores a job that it refused for its nodes, under its name, unless it only tested it.
            if "node configuration" in reason and "--test-only" not in options:
                ghost = self.add(options["--job-name"], "FAILED")
                ghost.reason, ghost.is_ours = "BadConstraints", True
            partition = f"sbatch: error: invalid partition specified: {options.get('--partition')}\n"
            detail = partition if reason.startswith("Invalid partition") else ""
            return Reply(1, "", f"{detail}sbatch: error: Batch job submission failed: {reason}\n")
        if self._lacks_room(options):
            start = "allocation failure" if "--test-only" in options else "sbatch: error: Batch job submission failed"
            return Reply(1, "", f"sbatch: error: QOSMaxSubmitJobPerUserLimit\n{start}: {POLICY}\n")
        if "--test-only" in options:
            return Reply(0, "", "sbatch: Job 9 to start at 2026-01-01T00:00:00 using 1 processors on nodes n1\n")
        script, *arguments = rest
        assert Path(script).read_text() == SCRIPT and "--" in arguments
        self._numbers += 1
        folder = Path(options["--chdir"])
        if "--array" not in options:
            assert arguments[-1] == str(folder) and "--begin" not in options
            self.jobs.append(FakeJob(str(self._numbers), options["--job-name"], folder, options))
        else:
            first, last = map(int, options["--array"].split("-"))
            for task in range(first, last + 1):
                job = FakeJob(f"{self._numbers}_{task}", options["--job-name"], folder / str(task), options)
                job.may_begin, job.reason = "--begin" not in options, "BeginTime"
                self.jobs.append(job)
        return Reply(0, f"{self._numbers}\n", "")

    def _refusal(self, options: dict[str, str]) -> str:
        """Return why a job is refused. One that begins later is not looked at."""
        if options.get("--partition", "main") not in PARTITIONS:
            return "Invalid partition name specified"
        if options.get("--account", "") not in ACCOUNTS:
            return "Invalid account or account/partition combination specified"
        name, *_, number = options.get("--gres", "gpu:0").split(":")
        most = GPUS if name == "gpu" else max(GPU_SHARDS.values())
        is_too_large = int(number) > most or int(options["--cpus-per-task"]) > CORES or int(options["--nodes"]) > NODES
        return "Requested node configuration is not available" if is_too_large and "--begin" not in options else ""

    def _lacks_room(self, options: dict[str, str]) -> bool:
        """Return whether the job, or a task of the array, would be one too many."""
        number = int(options.get("--array", "0-0").split("-")[1]) + 1
        used = sum(job.is_open and job.is_ours for job in self.jobs)
        return self.max_submitted is not None and used + number > self.max_submitted

    def _squeue(self, options: dict[str, str], rest: Sequence[str]) -> Reply:
        assert "--array" in options and "--noheader" in options
        shown = [job for job in self.jobs if (job.is_ours or "--me" not in options)]
        shown = [job for job in shown if job.is_open or options.get("--states") == "all"]
        return Reply(0, "".join(_columns(job, options["--format"]) for job in shown), "")

    def _sacct(self, options: dict[str, str], rest: Sequence[str]) -> Reply:
        if self.accounted is None:
            return Reply(1, "", "Slurm accounting storage is disabled\n")
        assert {"--noheader", "--parsable2", "--allocations"} <= options.keys()
        assert options["--format"] == "JobIDRaw,State,Reason,NodeList,JobName%200" and "now-" in options["--starttime"]
        recorded = [job for job in self.accounted if job.name in options["--name"].split(",")]
        lines = [f"{j.native_id}|{j.state}|{j.reason}|{j.node or 'None assigned'}|{j.name}\n" for j in recorded]
        return Reply(0, "".join(lines), "")

    def _scancel(self, options: dict[str, str], rest: Sequence[str]) -> Reply:
        assert options.keys() >= {"--me", "--name"} and not rest
        for job in (job for job in self.jobs if job.name == options["--name"] and job.is_open and job.is_ours):
            if job.state == "PENDING":
                job.state = job.state if "--signal" in options else "CANCELLED"
            elif "--signal" in options:
                assert "--batch" in options
                job.signals.append(options["--signal"])
            elif "--state" not in options:
                job.signals.append("KILL")
                job.state = "CANCELLED"
        return Reply(0, "", "")

    def _xargs(self, words: Sequence[str], text: str) -> Reply:
        assert words[:1] == ["-P"] and words[2:4] == ["-I", "{}"]
        name, *command = words[4:]
        replies = [self._run(name, [word.replace("{}", line) for word in command], "") for line in text.splitlines()]
        return next((Reply(123, "", reply.err) for reply in replies if reply.code), Reply(0, "", ""))

    def _scontrol(self, words: Sequence[str], text: str) -> Reply:
        assert not words
        for line in text.splitlines()[: self.scontrol_lines]:
            verb, *pairs = line.split(" ")
            values = dict(pair.split("=", 1) for pair in pairs)
            assert verb == "update" and values.keys() == {"JobId", "JobName", "StartTime"}
            for job in (job for job in self.jobs if job.native_id == values["JobId"] and job.state == "PENDING"):
                job.name, job.may_begin, job.reason = values["JobName"], values["StartTime"] == "now", "Priority"
        return Reply(0, "", "")

    def _sinfo(self, options: dict[str, str], rest: Sequence[str]) -> Reply:
        if options["--format"] == "%R":
            return Reply(0, "".join(f"{name}\n" for name in PARTITIONS), "")
        assert "--Node" in options and options["--format"] == "%R|%c|%m|%G"
        shards = {name: f",shard:{name}:{number}" for name, number in GPU_SHARDS.items()}
        sizes = [f"{CORES}|{MEMORY_MB}|gpu:{name}:{GPUS}{shards.get(name, '')}" for name in GPU_TYPES]
        return Reply(0, "".join(f"{name}|{size}\n" for size in sizes for name in PARTITIONS), "")


def _silence() -> None:
    raise Unreachable("sbatch did not answer within 30 s")


def _split(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options, and the words from the first one on that is none."""
    first = next((i for i, word in enumerate(words) if not word.startswith("--")), len(words))
    pairs = [word.partition("=") for word in words[:first]]
    return {name: value for name, _, value in pairs}, [*words[first:]]


def _columns(job: FakeJob, form: str) -> str:
    values = {"%i": job.native_id, "%T": job.state, "%r": job.reason, "%N": job.node, "%j": job.name}
    return "|".join(values[column] for column in form.split("|")) + "\n"
