"""Causes of a job's end, read from its output: Slurm's own verdict, before a known cause, before any other exception.

The patterns serve attempts of this site, whose users are also advised what to do, and jobs that ran elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LINE_LENGTH = 400
VERDICT, CAUSE, EXCEPTION, SHELL, WRAPPER = range(5)
"""Ranks of signs, from the strongest to the weakest."""

FAILURES = (
    (VERDICT, r"DUE TO TIME LIMIT|(?m:^)(?>.*?\bTIMEOUT\b).*\bjob\b", "it reached its time limit",
     "see compute.time_limit_seconds"),
    (VERDICT, r"DUE TO (?:NODE FAILURE|NODE_FAIL)|\bNODE_FAIL\b|[Nn]ode failure|Nodes? \S+ (?:is|are) down",
     "its node failed", ""),
    (VERDICT, r"DUE TO PREEMPTION|\bPREEMPTED\b", "another job took its place (preemption)", ""),
    (VERDICT, r"DUE TO JOB REQUEUE", "it was requeued", ""),
    (VERDICT, r"oom[-_ ]?kill|Out Of Memory|out-of-memory handler|exceeded (?:job )?memory limit|MemoryLimit",
     "out of memory: the kernel killed it", "it needs more than it requested, see compute.memory_mb"),
    (VERDICT, r"(?m:^)(?>.*?(?:slurmstepd|srun|scancel)).*CANCELLED AT", "it was cancelled", ""),
    (CAUSE, r"running low on memory", "out of memory", "it needs more than it requested, see compute.memory_mb"),
    (CAUSE, r"(?m:^)(?>.*?CUDA out of memory).* allowed; ", "it exceeded its share of the GPU",
     "set compute.gpus to a larger fraction, or to 1 for a GPU of its own"),
    (CAUSE, r"CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|CUDA error: out of memory|"
            r"No available memory for the cache blocks|(?m:^)(?>.*?Free memory on device ).* is less than desired",
     "out of memory on the GPU", "fewer concurrent prompts or members need less"),
    (CAUSE, r"^\s*(?:\w+\.)*_?(?:Array)?MemoryError\b|Cannot allocate memory|std::bad_alloc|DefaultCPUAllocator",
     "out of memory", "it needs more than it requested, see compute.memory_mb"),
    (CAUSE, r"(?m:^)(?>.*?DataLoader worker ).*[Bb]us error|insufficient shared memory",
     "the node's shared memory (/dev/shm) was full", "an administrator of the cluster can enlarge it"),
    (CAUSE, r"CondaError|CommandNotFoundError|Environment(?:Name|Location)NotFound|(?:conda|mamba): command not found|"
            r"\blibmamba (?:The given prefix|Shell not)|requires an initialized shell",
     "conda did not find or open its environment", "name the interpreter in python in the cluster's config"),
    (CAUSE, r"ModuleNotFoundError|No module named|No package metadata", "a Python module was not found",
     "install it for the interpreter in python in the cluster's config"),
    (CAUSE, r"cannot open shared object file|undefined symbol|ImportError", "a Python module could not be imported",
     "two packages are incompatible, or a library is missing: see python and modules in the cluster's config"),
    (CAUSE, r"Failed to initialize NVML|NVIDIA driver on your system is too old|CUDA is not available|"
            r"No CUDA GPUs are available|Found no NVIDIA driver|not compiled with CUDA|"
            r"CUDA driver version is insufficient|no CUDA-capable device", "CUDA was not available",
     "request a GPU with compute.gpus, and check that the node's torch supports its driver"),
    (CAUSE, r"\bMPS (?:client|server|control daemon)\b|CUDA_ERROR_MPS_", "CUDA's Multi-Process Service failed",
     'resume it; an admin can set "mps": false in the config of the cluster'),
    (CAUSE, r"CUDA (?:unknown )?error|cudaError|CUBLAS_STATUS|CUDNN_STATUS|Unable to determine the device handle",
     "the GPU failed", "if it happens again on only one node, tell the node's administrator"),
    (CAUSE, r"No space left on device|Disk quota exceeded", "disk full",
     "free space, or move its folder to another disk"),
    (CAUSE, r"Read-only file system", "the disk is read-only", "check where its folder is"),
    (CAUSE, r"GatedRepoError|gated repo|RepositoryNotFoundError|401 Client Error|403 Client Error",
     "access to the model was denied",
     "accept its terms, or set model.path to a folder with the model"),
    (CAUSE, r"is not a valid model identifier|HFValidationError", "the model does not exist",
     "set model.path to an existing model or its folder"),
    (CAUSE, r"api_key not configured", "Weights & Biases has no API key", ""),
    (CAUSE, r"OfflineModeIsEnabled|LocalEntryNotFoundError|Failed to resolve 'hugging|Max retries exceeded|"
            r"HfHubHTTPError|couldn't connect to '?http|Temporary failure in name resolution|Name or service not known",
     "a download failed", "nodes often have no network: set model.path to a folder with the model"),
    (CAUSE, r"NCCL (?:error|failure)|ncclSystemError|ncclInternalError|NCCL timeout|Watchdog caught collective",
     "NCCL failed", "its GPUs could not reach each other"),
    (CAUSE, r"Address already in use|EADDRINUSE", "its network port was in use", "start it again"),
    (CAUSE, r"Segmentation fault|SIGSEGV", "it crashed (segmentation fault)", ""),
    (CAUSE, r"Bus error|SIGBUS", "it crashed (bus error)", ""),
    (CAUSE, r"Illegal instruction|SIGILL", "it crashed (illegal instruction)", "it was built for another processor"),
    (CAUSE, r"core dumped|Fatal Python error|SIGABRT", "it crashed", ""),
    (SHELL, r"[Ii]nvalid partition", "the partition does not exist", "see partition in the cluster's config"),
    (SHELL, r"Lmod has detected the following error|Unable to locate a modulefile",
     "an environment module was not found", "see modules in the cluster's config"),
    (SHELL, r": command not found", "a command was not found", ""),
    (SHELL, r"syntax error (?:near|at)|: syntax error", "a script has a syntax error", ""),
    (SHELL, r"(?m:^)(?>.*?error: ).*(?:unrecognized arguments|invalid choice|the following arguments are required)",
     "a command was called with wrong arguments", ""),
    (SHELL, r": No such file or directory|can't open file", "a file was not found", ""),
    (SHELL, r"version `GLIBC\w*_[\d.]+' not found", "a library on its node is too old", ""),
    (SHELL, r": unbound variable", "a variable was not set", ""),
    (SHELL, r": Resource temporarily unavailable", "it reached its limit of processes", ""),
    (SHELL, r": Permission denied", "permission was denied", ""),
    (SHELL, r"^\s*Killed\s*$|\bline \d+:\s+\d+ Killed\b|task \S+: Killed|"
            r"\bSIGKILL\b|exit(?:ed)? (?:code|status)[: ]+-?(?:9|137)\b", "it was killed",
     "often for memory, see compute.memory_mb"),
    (SHELL, r"^(?:sbatch|srun|slurmstepd|slurm_\w+): (?:error|fatal)", "Slurm refused or stopped it", ""),
    (WRAPPER, r"[Ee]xited with exit code [1-9]|returned non-zero exit status|ChildFailedError",
     "one of its steps failed", ""),
)  # fmt: skip
"""Rank, pattern, what happened, and what to do about it in esweb, where that is known.

A pattern of two parts with anything between them begins at the line's start and takes the first occurrence of its first
part, `(?m:^)(?>.*?error: ).*invalid`: a line that repeats the first part is read once, and not once for each of them.
"""
PATTERNS = tuple((rank, re.compile(pattern), words, advice) for rank, pattern, words, advice in FAILURES)
PREFIX = re.compile(
    r"^(?:\[?(?:rank|default)\s?\d+\]?:?\s?|\s{0,3}\d+:(?:\s|$)|\((?:[\w. ]+ )?(?:rank=\d+ )?pid=\d[^()]*\)\s?"
    r"(?:ERROR [\d-]+ [\d:]+ \[[\w.:]+\] ?)?)"
)
"""The prefix that launchers, Ray and vLLM write before each line of a process, to tell processes apart."""
EXCEPTION_NAME = r"_?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|NotFound|Expired|Enabled)\b(?:\(\w+\))?"
EXCEPTION_LINE = re.compile(rf"^(?:[A-Za-z_]\w*\.)*{EXCEPTION_NAME}(?::.*)?$")
QUALIFIED_EXCEPTION = re.compile(rf"^(?:[a-z_]\w*\.)+{EXCEPTION_NAME}: ")
"""An exception with its module, which nothing else looks like: it needs no traceback above it."""
FRAME = re.compile(r'^  File "[^"]+", line \d+$')
"""The position of a syntax error in a script; Python writes no Traceback for it."""
ERROR = re.compile(
    r"^[\w./-]+(?:\[\d+\])?: (?:\w+: )*(?:fatal |internal )?[Ee]rror:? |^(?:ERROR|FATAL|Error|error|fatal)\b[:\s]"
)
CRASH = re.compile(
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
    """A line that explains the end of a job: the line's rank, its meaning, its text, its number, and an advice."""

    rank: int
    meaning: str
    text: str
    line: int
    advice: str = ""

    @property
    def reason(self) -> str:
        """Return a sentence for the attempt."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}: {self.shortened} (line {self.line} of its log)"

    @property
    def shortened(self) -> str:
        """Return the line, cut to at most MAX_LINE_LENGTH characters."""
        return self.text if len(self.text) <= MAX_LINE_LENGTH else f"{self.text[:MAX_LINE_LENGTH]}…"


class Failures:
    """Reader of a log, line by line, that keeps the strongest sign."""

    def __init__(self) -> None:
        self.sign: Sign | None = None
        self._in_traceback = False
        self._is_ignored = False

    def read(self, number: int, raw: str) -> None:
        """Read one line of the log."""
        text = PREFIX.sub("", raw).rstrip()
        if text.startswith("Exception ignored in"):
            self._is_ignored = True
        elif text.lstrip().startswith("Traceback (most recent call last)") or FRAME.match(text):
            self._in_traceback = True
        elif self._in_traceback and text and not text[0].isspace():
            self._read_raised(number, text)
        elif HINT.search(text) and "Warning" not in text:
            (self._read_exception if QUALIFIED_EXCEPTION.match(text) else self._read_pattern)(number, text)

    def reset(self) -> None:
        """Drop the sign: training continued, so earlier lines did not end it."""
        self.sign = None

    def _read_raised(self, number: int, text: str) -> None:
        self._in_traceback = False
        # Python prints these while it shuts down; they end nothing.
        if self._is_ignored:
            self._is_ignored = False
        else:
            self._read_exception(number, text)

    def _read_exception(self, number: int, text: str) -> None:
        if not self._read_pattern(number, text) and EXCEPTION_LINE.match(text):
            self._update_sign(Sign(EXCEPTION, "it raised an exception", text, number), is_later_better=True)

    def _read_pattern(self, number: int, text: str) -> bool:
        for rank, pattern, words, advice in PATTERNS:
            if pattern.search(text) and (rank != CAUSE or _is_error(text)):
                self._update_sign(Sign(rank, words, text.strip(), number, advice))
                return True
        if ERROR.match(text):
            self._update_sign(Sign(SHELL, "it ended with an error", text.strip(), number))
            return True
        return False

    def _update_sign(self, sign: Sign, *, is_later_better: bool = False) -> None:
        if self.sign is None or sign.rank < self.sign.rank or (is_later_better and sign.rank == self.sign.rank):
            self.sign = sign


def _is_error(text: str) -> bool:
    """Return whether a program ended with this line; False for code that a traceback shows, for prose and for a
    prompt."""
    return EXCEPTION_LINE.match(text) is not None or ERROR.match(text) is not None or CRASH.search(text) is not None
