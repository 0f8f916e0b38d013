"""Meaning of sbatch when it submits no job: refused for ever, refused for now, or perhaps not refused at all.

This is the only place that decides it. Texts: `slurm_errtab` in Slurm's src/common/slurm_errno.c, `jsra` in
src/common/job_state_reason.c, and src/sbatch/sbatch.c, of versions 22.05 to 25.11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

from workers.executors.states import Obstacle

MAX_LENGTH = 600
FAILURE = re.compile(r"(?:submission failed|allocation failure): (.+)")
"""The line in which sbatch states the error of its request; `allocation failure` with --test-only. What a plug-in or
the controller says besides stands in lines before it."""
ROOM = (
    (r"\bQOSMaxSubmitJobPerUser", "its QOS takes no more jobs of this user"),
    (r"\bQOSGrpSubmitJobs", "its QOS takes no more jobs"),
    (r"\bMaxSubmitJobsPerAccount", "its QOS takes no more jobs of this account"),
    (r"\bAssocMaxSubmitJob", "the limit of this user's submitted jobs is reached"),
    (r"\bAssocGrpSubmitJobs", "the limit of its account's submitted jobs is reached"),
    (r"MaxJobCount limit reached|temporarily unable to accept job|^Resource temporarily unavailable$"
     r"|Slurm job queue full|Unable to create job record, try again",
     "the cluster takes no more jobs of anybody, its MaxJobCount is reached"),
)  # fmt: skip
"""Limits on the number of submitted jobs. Each ends with a job that ends."""
LATER = (
    (r"Disk quota exceeded", "a disk quota is used up"),
    (r"No space left on device|I/O error writing script/environment to file", "a disk of the cluster is full"),
    (r"Read-only file system|Stale file handle|^Input/output error", "a disk of the cluster cannot be written"),
    (r"Required nodes? not available|Requested nodes are busy|Max powered up nodes reached",
     "nodes that it needs are down, drained or reserved"),
    (r"Required partition not available|Partition in DOWN state", "its partition is down, drained or inactive"),
    (r"submissions disabled|operation is presently disabled", "an administrator has disabled submissions"),
    (r"Rate limit exceeded", "the controller takes no more requests of this user"),
    (r"maintenance reservation", "the cluster is reserved for its maintenance"),
    (r"reservation (?:is in use|not usable now)", "its reservation cannot be used now"),
    (r"Licenses currently unavailable", "no licence is free"),
    (r"breached requested QOS usage threshold", "its account has used up its share under this QOS"),
)  # fmt: skip
"""Other refusals that end by themselves or by an administrator."""
EITHER = (
    (r"violates accounting/QOS policy",
     "a limit of its account or QOS refuses it: of the number of submitted jobs, or of the size or time of one"),
    (r"Requested partition configuration not available now",
     "its partition is down or inactive, or the job requests more nodes or time than it allows"),
)  # fmt: skip
"""Refusals that end by themselves, or never. The controller may name the limit in a line of its own."""
LIMIT = re.compile(r"(?:QOS|Assoc|Max)[A-Z]\w*", re.ASCII)
PLUGIN = re.compile(r"cli_filter plugin terminated|Plugin stack post-option processing failed", re.IGNORECASE)
"""Last words of an sbatch that a plug-in on the submit host ended before the request."""
SILENCE = (
    (r"Unable to contact slurm controller|controller in standby mode|Controller is in standby mode",
     "Slurm's controller does not answer"),
    (r"timed out|Connection|Communication|Message (?:send|receive) failure|Zero Bytes|Unexpected message"
     r"|Insane message length|Header lengths|missing socket|would block|delayed socket error|shutting down"
     r"|Broken pipe|Transport endpoint|No route to host|Network is unreachable|Interrupted system call"
     r"|Unable to process (?:in|out)", "the connection to Slurm's controller failed"),
    (r"[Aa]uthentication|[Mm]unge|Token Generation failed", "Slurm could not verify this account (munge)"),
    (r"Incompatible versions|DNS SRV|Unable to resolve|name resolution|Name or service not known"
     r"|configuration (?:source|file)|fetch config|check slurm\.conf|Unable to connect to database",
     "Slurm is not set up, or is being upgraded"),
    (r"[Cc]annot allocate memory|[Ff]ork", "the submit host has no memory left"),
)  # fmt: skip
"""The request may have arrived, or be on its way."""
FOREVER = re.compile(
    r"invalid|not available|not permitted|violates|denied|not satisf|can ?not be|too long|too large"
    r"|unrecognized option|unable to open|exceeds|more processors|no partition|not a valid|needs to be provided",
    re.IGNORECASE,
)


class Meaning(Enum):
    """Meaning of a message of sbatch for the job."""

    FOREVER = auto()
    """Refused, and it would be refused again."""
    FOR_NOW = auto()
    """Refused, but it may be accepted later."""
    PERHAPS = auto()
    """No job should exist, but the words do not say that surely: it is refused if no job of its name exists."""
    UNKNOWN = auto()
    """The request may have arrived, and the job may still appear."""


@dataclass(frozen=True)
class Refusal:
    """A message in which sbatch reports no job. `words` are its own, in one line: those that state the cause, or all.
    `cause` is a cause that passes, in plain words; empty if none is known. `obstacle`: what a job waits for that is
    refused for now."""

    meaning: Meaning
    words: str
    cause: str = ""
    obstacle: Obstacle | None = None

    def __str__(self) -> str:
        return f"{self.cause} (Slurm: {self.words})" if self.cause else self.words


def read_refusal(text: str) -> Refusal:
    """Return what the error output of sbatch means.

    If sbatch states the error of its request, only that counts: a plug-in's own words before it may mention anything.
    """
    lines = _lines(text)
    words = "; ".join(lines)[:MAX_LENGTH]
    failures = [match[1] for line in lines if (match := FAILURE.search(line))]
    if not failures:
        return _read_unstated(words)
    error = failures[-1][:MAX_LENGTH]
    if cause := _cause(EITHER, error):
        return _read_limit([line for line in lines if not FAILURE.search(line)], words, cause)
    if cause := _cause(ROOM, error):
        return Refusal(Meaning.FOR_NOW, error, cause, Obstacle.ROOM)
    if cause := _cause(LATER, error):
        return Refusal(Meaning.FOR_NOW, error, cause, Obstacle.CLUSTER)
    if cause := _cause(SILENCE, error):
        return Refusal(Meaning.UNKNOWN, error, cause)
    return Refusal(Meaning.FOREVER if FOREVER.search(error) else Meaning.PERHAPS, words)


def _read_limit(others: list[str], words: str, cause: str) -> Refusal:
    """Read a refusal by a limit, whose name may be one of the other lines: the number of jobs passes, and the size of
    this one does not. A plug-in's words in its place leave it open."""
    if limit := next((line for line in others if _cause(ROOM, line)), ""):
        return Refusal(Meaning.FOR_NOW, limit, _cause(ROOM, limit), Obstacle.ROOM)
    if any(LIMIT.fullmatch(line) for line in others):
        return Refusal(Meaning.FOREVER, words)
    return Refusal(Meaning.FOR_NOW, words, cause, Obstacle.UNCLEAR)


def _read_unstated(words: str) -> Refusal:
    """Read a message of an sbatch that made no request, got no reply to it, or was stopped while it repeated it."""
    if not words:
        return Refusal(Meaning.UNKNOWN, "")
    if PLUGIN.search(words):
        return Refusal(Meaning.PERHAPS, words)
    if cause := _cause(ROOM, words):
        # sbatch repeats the request itself, for two minutes: the last one may have succeeded.
        return Refusal(Meaning.UNKNOWN, words, cause, Obstacle.ROOM)
    if cause := _cause(LATER, words):
        return Refusal(Meaning.FOR_NOW, words, cause, Obstacle.CLUSTER)
    if cause := _cause(SILENCE, words):
        return Refusal(Meaning.UNKNOWN, words, cause)
    return Refusal(Meaning.FOREVER if FOREVER.search(words) else Meaning.PERHAPS, words)


def _lines(text: str) -> list[str]:
    """Return the lines without the names of program and level, such as `sbatch: error: `."""
    lines = (re.sub(r"^(?:(?:sbatch|error|fatal): ?)+", "", line.strip()).strip() for line in text.splitlines())
    return [line for line in lines if line]


def _cause(table: tuple[tuple[str, str], ...], text: str) -> str:
    return next((cause for pattern, cause in table if re.search(pattern, text)), "")
