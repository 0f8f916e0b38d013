"""The reason why a job ended before its program could report it, taken from its log: a sentence with the line."""

from __future__ import annotations

from pathlib import Path

from tests.cases import each_case
from workers.executors.diagnosis import diagnose, explain_message

LOGS = [
    ("/usr/bin/env: '/opt/none/bin/python': No such file or directory", "the interpreter is not on the node"),
    ("‘/opt/none/python’: No such file or directory", "the interpreter is not on the node"),
    ("/opt/venv/bin/python: Error while finding module specification for 'workers.agent' (ModuleNotFoundError: "
     "No module named 'workers')", "the node cannot access esweb's code"),
    ("ModuleNotFoundError: No module named 'torch'", "a Python module was not found: install it for the interpreter"),
    ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
     "a Python module could not be imported: two packages are incompatible, or a library is missing"),
    ("ERROR: Unable to locate a modulefile for 'cuda/99'", "a module of the cluster's config was not loaded"),
    ("esweb job: the module cuda/99 was not loaded", "a module of the cluster's config was not loaded"),
    ("esweb job: its directory is not there", "the node cannot access the job's folder"),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of your processes may have been killed",
     "out of memory: the kernel killed it: it needs more than it requested, see compute.memory_mb"),
    ("MemoryError", "out of memory: it needs more than it requested"),
    ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.0 GiB", "out of memory: it needs more"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
     "out of memory on the GPU: fewer concurrent prompts or members need less"),
    ("RuntimeError: CUDA error: an illegal memory access was encountered", "the GPU failed: if it happens again"),
    ("RuntimeError: No CUDA GPUs are available", "CUDA was not available: request a GPU with compute.gpus"),
    ("slurmstepd: error: *** JOB 9 ON n1 CANCELLED AT 10:00:00 DUE TO TIME LIMIT ***", "it reached its time limit"),
    ("OSError: [Errno 28] No space left on device", "disk full: free space"),
    ("srun: error: Unable to allocate resources: Invalid partition name specified", "the partition does not exist"),
    ("huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach the hub", "a download failed: nodes often"),
]  # fmt: skip
TRACEBACK = """Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise ValueError("CUDA out of memory")
"""


@each_case(("line", "sentence"), LOGS)
def test_known_sign_is_reported_with_its_line(tmp_path: Path, line: str, sentence: str) -> None:
    log = tmp_path / "slurm.log"
    log.write_text(f"starting\n{line}\nbye\n")
    text = diagnose(tmp_path / "none.log", log)
    assert text.startswith(sentence) and text.endswith(f"(slurm.log: {line})")


def test_log_without_sign_has_no_diagnosis(tmp_path: Path) -> None:
    (tmp_path / "slurm.log").write_bytes(b"all is well\n\xff\x00\n")
    assert diagnose(tmp_path / "slurm.log", tmp_path / "none") == ""


def test_uncaught_exception_is_reported_by_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(f"{TRACEBACK}ValueError: sigma must be above 0\nesweb agent: done\n")
    assert diagnose(log) == "it raised an exception (log.txt: ValueError: sigma must be above 0)"


def test_known_error_is_reported_with_advice() -> None:
    full = "OSError: [Errno 28] No space left on device: '/shared/x'"
    assert explain_message(full).startswith("disk full: free space") and explain_message(full).endswith(f"({full})")
    assert explain_message("ValueError: too few prompts") == "ValueError: too few prompts"


def test_exceeded_share_of_gpu_is_not_a_full_one() -> None:
    full = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 139.80 GiB. {}Of the"
    assert explain_message(full.format("7.25 GiB allowed; ")).startswith(
        "it exceeded its share of the GPU: set compute"
    )
    assert explain_message(full.format("")).startswith("out of memory on the GPU: ")


def test_failed_service_for_sharing_is_named() -> None:
    lost = "RuntimeError: CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server"
    assert explain_message(lost).startswith("CUDA's Multi-Process Service failed: resume it")


def test_warning_in_log_is_no_reason(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("UserWarning: CUDA is not available\nNo module named triton, which is optional: going on without\n")
    assert "CUDA" not in diagnose(log)
