"""A job that failed before training has a reason in Slurm's words or its own."""

from __future__ import annotations

from tests.cases import each_case
from tests.runs.importing.sample_logs import HEADER, read
from workers.executors.states import State

BLAMED = {
    "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-01-09 DUE TO TIME LIMIT ***": "It reached its time limit",
    "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-09T22:00:00 DUE TO NODE FAILURE ***": "Its node failed",
    "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-01-09 DUE TO PREEMPTION ***": "Another job took its place",
    "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2026-01-09T22:00:00 ***": "It was cancelled",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch. Some of the step tasks have been OOM Killed.":
        "Out of memory: the kernel killed it",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.": "Out of memory on the GPU",
    "ModuleNotFoundError: No module named 'trl'": "A Python module was not found",
    "RuntimeError: CUDA is not available": "CUDA was not available",
    "RuntimeError: Found no NVIDIA driver on your system.": "CUDA was not available",
    "OSError: [Errno 28] No space left on device": "Disk full",
    "/var/spool/slurmd/job1/slurm_script: line 20: python: command not found": "A command was not found",
    "/spool/job1/slurm_script: line 9: syntax error near unexpected token `fi'": "A script has a syntax error",
    "train.py: error: unrecognized arguments: --sgima 1": "A command was called with wrong arguments",
    "slurm_script: line 3: 99 Segmentation fault      (core dumped) python a.py": "It crashed (segmentation fault)",
    "ValueError: sigma must be above 0": "It raised an exception",
    "srun: error: Unable to allocate resources: Invalid partition name specified": "The partition does not exist",
    "RuntimeError: CUDA error: an illegal memory access": "The GPU failed",
    "CondaError: Run 'conda init' before 'conda activate'": "Conda did not find or open its environment",
    "EnvironmentNameNotFound: Could not find conda environment: es": "Conda did not find or open its environment",
    "/spool/job1/slurm_script: line 8: conda: command not found": "Conda did not find or open its environment",
    'critical libmamba The given prefix does not exist: "/e"': "Conda did not find or open its environment",
    "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'cuda/12.1'":
        "An environment module was not found",
    "Lmod has detected the following error:  The following module(s) are unknown:":
        "An environment module was not found",
    "/usr/bin/python: No module named trl": "A Python module was not found",
    "python: can't open file '/home/u/train.py': [Errno 2] No such file or directory": "A file was not found",
    "tar: write error: No space left on device": "Disk full",
    "OSError: [Errno 122] Disk quota exceeded: '/home/u/x'": "Disk full",
    "OSError: foo/bar is not a local folder and is not a valid model identifier": "The model does not exist",
    "OSError: You are trying to access a gated repo.": "Access to the model was denied",
    "OSError: We couldn't connect to 'https://hub' to load the files": "A download failed",
    "ValueError: No available memory for the cache blocks.": "Out of memory on the GPU",
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.": "Out of memory",
    "ray.exceptions.RayTaskError(RuntimeError): ray::Engine() (pid=1)": "It raised an exception",
    "/spool/job1/slurm_script: line 20: 123 Killed                  python train.py": "It was killed",
    "/spool/job1/slurm_script: line 20: 123 Bus error      (core dumped) python a.py": "It crashed (bus error)",
    "/spool/job1/slurm_script: line 20: 123 Illegal instruction (core dumped) python a.py":
        "It crashed (illegal instruction)",
    "/spool/job1/slurm_script: line 20: 123 Aborted        (core dumped) python a.py": "It crashed: ",
    "Fatal Python error: Segmentation fault": "It crashed (segmentation fault)",
    "srun: error: n1: task 0: Bus error": "It crashed (bus error)",
    "srun: error: Node failure on n1": "Its node failed",
    "srun: error: Nodes n[1-2] are down or not responding": "Its node failed",
    "slurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026-01-09 DUE TO JOB REQUEUE ***":
        "It was requeued",
    "/spool/job1/slurm_script: line 7: HF_TOKEN: unbound variable": "A variable was not set",
    'docker: Error response from daemon: could not select device driver "".': "It ended with an error",
    "RuntimeError: The NVIDIA driver on your system is too old": "CUDA was not available",
    "Failed to initialize NVML: Driver/library version mismatch": "CUDA was not available",
}  # fmt: skip
FRAMES = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    import trl\n'


@each_case("line", BLAMED)
def test_the_reason_is_named_with_its_line(line):
    is_python = line.split(":")[0].endswith(("Error", "Error(RuntimeError)")) and not line.startswith("Conda")
    log = read("Loading modules\n" + (FRAMES if is_python else "") + line + "\n", "grpo_logs/beta0.1/x_seed3.log")
    (run,) = log.runs
    assert (run.kind, run.state, run.method, run.seed) == ("log of a job that failed", State.FAILED, "grpo", 3)
    assert run.reason.startswith(BLAMED[line]), run.reason
    assert run.reason.endswith(f"{line} (line {5 if is_python else 2} of its log)")


@each_case("label", ["[rank1]: ", "[rank1]:", "3: ", "[default0]:", "(EngineCore_0 pid=12) "])
def test_launcher_prefixes_do_not_hide_the_reason(label):
    log = read("".join(f"{label}{line}\n" for line in (FRAMES + "KeyError: 'x'").splitlines()))
    assert [run.reason for run in log.runs] == ["It raised an exception: KeyError: 'x' (line 4 of its log)"]


def test_a_syntax_error_needs_no_traceback():
    log = '  File "/home/u/train.py", line 3\n    def f(:\n          ^\nSyntaxError: invalid syntax\n'
    assert read(log).runs[0].reason == "It raised an exception: SyntaxError: invalid syntax (line 4 of its log)"


def test_slurm_error_takes_precedence_over_python_error():
    log = read(FRAMES + "KeyError: 'x'\nslurmstepd: error: *** JOB 1 ON n CANCELLED AT 2026 DUE TO TIME LIMIT ***\n")
    assert log.runs[0].reason.startswith("It reached its time limit")


def test_the_cause_counts_more_than_the_launcher_that_passes_it_on():
    launcher = FRAMES + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nsrun: error: n1: exited\n"
    log = read(FRAMES + "ModuleNotFoundError: No module named 'trl'\n" + launcher)
    assert log.runs[0].reason.startswith("A Python module was not found: ModuleNotFoundError")


def test_exceptions_that_python_ignores_end_nothing():
    ignored = "Exception ignored in: <function E.__del__ at 0x1>\n" + FRAMES + "IndexError: list index out of range\n"
    assert read(ignored).runs == []


def test_head_without_an_iteration_is_a_failure_without_reason():
    (run,) = read(HEADER.format(seed=2)).runs
    assert (run.method, run.seed, run.state) == ("es", 2, State.FAILED)
    assert run.reason == "Its log ends before the first iteration and states no reason"


@each_case(
    "text",
    [
        "max_steps: 1000\nnum_generations: 30\nbeta: 0.1\n",
        '{"question":"Solve: 3 + 5 =","answer":"8"}\n{"question":"x","answer":"y"}\n',
        "# Readme\n\nIf you see CUDA out of memory, lower the batch size. The command not found page helps.\n",
        "import torch\n\nclass OutOfMemoryError(RuntimeError):\n    pass\n",
        "",
    ],
    ids=["YAML", "JSON lines", "prose", "code", "nothing"],
)
def test_other_texts_are_no_jobs(text):
    log = read(text)
    assert (log.runs, log.remarks) == ([], [])
