"""Why a job ended, from what it printed: Slurm's own verdict before a known cause, that before any other exception.

The same for attempts of this site, which are told what to do about it, and for jobs that ran elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 400
VERDICT, CAUSE, EXCEPTION, SHELL, WRAPPER = range(5)
"""From the strongest to the weakest."""

KNOWN = (
    (VERDICT, r"DUE TO TIME LIMIT|\bTIMEOUT\b.*\bjob\b", "its time limit was over", "see compute.time_limit_seconds"),
    (VERDICT, r"DUE TO (?:NODE FAILURE|NODE_FAIL)|\bNODE_FAIL\b|[Nn]ode failure|Nodes? \S+ (?:is|are) down",
     "its node failed", ""),
    (VERDICT, r"DUE TO PREEMPTION|\bPREEMPTED\b", "another job took its place (preemption)", ""),
    (VERDICT, r"DUE TO JOB REQUEUE", "it was put back into the queue", ""),
    (VERDICT, r"oom[-_ ]?kill|Out Of Memory|out-of-memory handler|exceeded (?:job )?memory limit|MemoryLimit",
     "out of memory: the kernel killed it", "it needs more than it asked for, see compute.memory_mb"),
    (VERDICT, r"(?:slurmstepd|srun|scancel).*CANCELLED AT", "it was cancelled", ""),
    (CAUSE, r"running low on memory", "out of memory", "it needs more than it asked for, see compute.memory_mb"),
    (CAUSE, r"CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|CUDA error: out of memory|"
            r"No available memory for the cache blocks|Free memory on device .* is less than desired",
     "out of memory on the GPU", "fewer prompts or members at once take less"),
    (CAUSE, r"^\s*(?:\w+\.)*_?(?:Array)?MemoryError\b|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator",
     "out of memory", "it needs more than it asked for, see compute.memory_mb"),
    (CAUSE, r"DataLoader worker .*[Bb]us error|insufficient shared memory",
     "the node's shared memory (/dev/shm) was full", "an administrator of the cluster can enlarge it"),
    (CAUSE, r"CondaError|CommandNotFoundError|Environment(?:Name|Location)NotFound|(?:conda|mamba): command not found|"
            r"\blibmamba (?:The given prefix|Shell not)|requires an initialized shell",
     "conda did not find or open its environment", "name the interpreter itself: see python in the cluster's config"),
    (CAUSE, r"ModuleNotFoundError|No module named|No package metadata", "a Python module was not found",
     "install it for the interpreter that python names in the cluster's config"),
    (CAUSE, r"cannot open shared object file|undefined symbol|ImportError", "a Python module could not be imported",
     "two packages do not fit together, or a library is missing: see python and modules in the cluster's config"),
    (CAUSE, r"Failed to initialize NVML|NVIDIA driver on your system is too old|CUDA is not available|"
            r"No CUDA GPUs are available|Found no NVIDIA driver|not compiled with CUDA|"
            r"CUDA driver version is insufficient|no CUDA-capable device", "CUDA was not available",
     "ask for a GPU with compute.gpus, and see that the torch of the node fits its driver"),
    (CAUSE, r"CUDA (?:unknown )?error|cudaError|CUBLAS_STATUS|CUDNN_STATUS|Unable to determine the device handle",
     "the GPU failed", "where it happens again on one node alone, that node needs its administrator"),
    (CAUSE, r"No space left on device|Disk quota exceeded", "disk full",
     "make room, or have its folder on another disk"),
    (CAUSE, r"Read-only file system", "the disk takes no writes", "see where its folder lies"),
    (CAUSE, r"GatedRepoError|gated repo|RepositoryNotFoundError|401 Client Error|403 Client Error",
     "the model may not be loaded",
     "accept its terms, or name a folder that holds it in model.path"),
    (CAUSE, r"is not a valid model identifier|HFValidationError", "there is no such model",
     "name one, or a folder that holds it, in model.path"),
    (CAUSE, r"api_key not configured", "Weights & Biases has no key here", ""),
    (CAUSE, r"OfflineModeIsEnabled|LocalEntryNotFoundError|Failed to resolve 'hugging|Max retries exceeded|"
            r"HfHubHTTPError|couldn't connect to '?http|Temporary failure in name resolution|Name or service not known",
     "a download did not work", "nodes often have no network: name a folder that holds the model in model.path"),
    (CAUSE, r"NCCL (?:error|failure)|ncclSystemError|ncclInternalError|NCCL timeout|Watchdog caught collective",
     "NCCL failed", "its GPUs did not reach each other"),
    (CAUSE, r"Address already in use|EADDRINUSE", "its network port was taken", "start it again"),
    (CAUSE, r"Segmentation fault|SIGSEGV", "it crashed (segmentation fault)", ""),
    (CAUSE, r"Bus error|SIGBUS", "it crashed (bus error)", ""),
    (CAUSE, r"Illegal instruction|SIGILL", "it crashed (illegal instruction)", "it was built for another processor"),
    (CAUSE, r"core dumped|Fatal Python error|SIGABRT", "it crashed", ""),
    (SHELL, r"[Ii]nvalid partition", "there is no such partition", "see partition in the cluster's config"),
    (SHELL, r"Lmod has detected the following error|Unable to locate a modulefile",
     "an environment module was not found", "see modules in the cluster's config"),
    (SHELL, r": command not found", "a command was not found", ""),
    (SHELL, r"syntax error (?:near|at)|: syntax error", "a script has a syntax error", ""),
    (SHELL, r"error: .*(?:unrecognized arguments|invalid choice|the following arguments are required)",
     "a command was called wrongly", ""),
    (SHELL, r": No such file or directory|can't open file", "a file was not found", ""),
    (SHELL, r"version `GLIBC\w*_[\d.]+' not found", "a library of its node is too old", ""),
    (SHELL, r": unbound variable", "a variable was not set", ""),
    (SHELL, r": Resource temporarily unavailable", "it may start no more processes", ""),
    (SHELL, r": Permission denied", "permission was denied", ""),
    (SHELL, r"^\s*Killed\s*$|\bline \d+:\s+\d+ Killed\b|task \S+: Killed|"
            r"\bSIGKILL\b|exit(?:ed)? (?:code|status)[: ]+-?(?:9|137)\b", "it was killed",
     "often for memory, see compute.memory_mb"),
    (SHELL, r"^(?:sbatch|srun|slurmstepd|slurm_\w+): (?:error|fatal)", "Slurm refused or ended it", ""),
    (WRAPPER, r"[Ee]xited with exit code [1-9]|returned non-zero exit status|ChildFailedError", "a step of it failed",
     ""),
)  # fmt: skip
"""Rank, pattern, what happened, and what to do about it in esweb, where that is known."""
PATTERNS = tuple((rank, re.compile(pattern), words, advice) for rank, pattern, words, advice in KNOWN)
PREFIX = re.compile(
    r"^(?:\[?(?:rank|default)\s?\d+\]?:?\s?|\s{0,3}\d+:(?:\s|$)|\((?:[\w. ]+ )?(?:rank=\d+ )?pid=\d+[^()]*\)\s?"
    r"(?:ERROR [\d-]+ [\d:]+ \[[\w.:]+\] ?)?)"
)
"""What launchers, Ray and vLLM write before each line of a process, to tell its lines from another's."""
NAMED = r"_?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|NotFound|Expired|Enabled)\b(?:\(\w+\))?"
RAISED = re.compile(rf"^(?:[A-Za-z_]\w*\.)*{NAMED}(?::.*)?$")
ALONE = re.compile(rf"^(?:[a-z_]\w*\.)+{NAMED}: ")
"""An exception with its module, which nothing else looks like: it needs no traceback above it."""
FRAME = re.compile(r'^  File "[^"]+", line \d+$')
"""Where Python found a script's syntax wrong; it writes no Traceback then."""
ERROR = re.compile(
    r"^[\w./-]+(?:\[\d+\])?: (?:\w+: )*(?:fatal |internal )?[Ee]rror:? |^(?:ERROR|FATAL|Error|error|fatal)\b[:\s]"
)
DIED = re.compile(
    r"\bline \d+:|core dumped|^(?:\w+: )?(?:Segmentation fault|Bus error)|: Cannot allocate|^No module named|"
    r"^\S*python[\d.]*: (?:No module named|Error while)|^Fatal Python error|^\s*what\(\): |^Failed to initialize NVML|"
    r"\blibmamba |requires an initialized shell|Watchdog caught collective|"
    r"[a-z]: (?:No space left on device|Disk quota exceeded)$"
)
HINT = re.compile(
    r"rror|RROR|xception|xit|Slurm|slurm|SLURM|CANCEL|DUE TO|oom|OOM|emory|odule|CUDA|NVIDIA|space|quota|NCCL|ddress|"
    r"fault|FAIL|ail|denied|such file|not found|illed|SIG|FATAL|TIME|PREEMPT|arguments|choice|Interrupt|"
    r"alloc|open file|modulefile|unbound|unavailable|what\(|Illegal|dumped|mamba|shell|NotFound|fatal|Watchdog|"
    r"(?:are|is) down"
)


@dataclass(frozen=True)
class Sign:
    """A line that says why: how strong it is, what it means, the line itself, its number, and what to do about it."""

    rank: int
    words: str
    text: str
    line: int
    advice: str = ""

    @property
    def reason(self) -> str:
        """A sentence for the attempt."""
        return f"{self.words[:1].upper()}{self.words[1:]}: {self.shortened} (line {self.line} of its log)"

    @property
    def shortened(self) -> str:
        """The line, however long it is."""
        return self.text if len(self.text) <= LONGEST else f"{self.text[:LONGEST]}…"


class Failures:
    """Reads on line by line, and remembers the strongest sign."""

    def __init__(self) -> None:
        self.sign: Sign | None = None
        self._in_traceback = False
        self._is_ignored = False

    def read(self, number: int, raw: str) -> None:
        """A line of the log."""
        text = PREFIX.sub("", raw).rstrip()
        if text.startswith("Exception ignored in"):
            self._is_ignored = True
        elif text.lstrip().startswith("Traceback (most recent call last)") or FRAME.match(text):
            self._in_traceback = True
        elif self._in_traceback and text and not text[0].isspace():
            self._raised(number, text)
        elif HINT.search(text) and "Warning" not in text:
            (self._exception if ALONE.match(text) else self._seen)(number, text)

    def forget(self) -> None:
        """Training went on: what was said before did not end it."""
        self.sign = None

    def _raised(self, number: int, text: str) -> None:
        self._in_traceback = False
        # Python prints these while it shuts down; they end nothing.
        if self._is_ignored:
            self._is_ignored = False
        else:
            self._exception(number, text)

    def _exception(self, number: int, text: str) -> None:
        if not self._seen(number, text) and RAISED.match(text):
            self._keep(Sign(EXCEPTION, "it raised an exception", text, number), is_later_better=True)

    def _seen(self, number: int, text: str) -> bool:
        for rank, pattern, words, advice in PATTERNS:
            if pattern.search(text) and (rank != CAUSE or _is_error(text)):
                self._keep(Sign(rank, words, text.strip(), number, advice))
                return True
        if ERROR.match(text):
            self._keep(Sign(SHELL, "it ended with an error", text.strip(), number))
            return True
        return False

    def _keep(self, sign: Sign, *, is_later_better: bool = False) -> None:
        if self.sign is None or sign.rank < self.sign.rank or (is_later_better and sign.rank == self.sign.rank):
            self.sign = sign


def _is_error(text: str) -> bool:
    """True for a line that a program ended with; false for code that a traceback shows, for prose and for a prompt."""
    return RAISED.match(text) is not None or ERROR.match(text) is not None or DIED.search(text) is not None
