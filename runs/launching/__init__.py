"""Run -> attempt -> executor: create runs, submit each attempt once, cancel, resume, rebuild checkpoints, sweep.

Commands enqueue their tasks by name as soon as they are committed (`runs.enqueue`).
"""

from runs.launching.budgets import resources_of
from runs.launching.cancel import cancel_job, request_cancel, request_end
from runs.launching.code import bundle_file, purge_arrays, purge_code
from runs.launching.commands import cancel_run, cancel_runs
from runs.launching.create import check_config, create_run, new_attempt
from runs.launching.queue import CannotMove, hold_run, move_run, release_run
from runs.launching.rebuilds import CannotRebuild, rebuild_checkpoint
from runs.launching.resume import (
    CannotResume,
    calls_for_restart,
    count_restarts,
    create_due_restarts,
    create_resume_attempt,
    ended_with_site,
    plan_restart,
    restart_budget,
    resume_refusal,
)
from runs.launching.run_names import default_run_name, parent_name
from runs.launching.schemas import (
    AttemptDetail,
    AttemptOut,
    AttemptsOut,
    ChangedRun,
    EventOut,
    RunDetail,
    RunsOut,
    run_detail,
    runs_out,
)
from runs.launching.submit import submit_job
from runs.launching.sweeps.commands import NewSweep, launch_sweep
from runs.launching.transitions import transition, update_facts

__all__ = [
    "AttemptDetail",
    "AttemptOut",
    "AttemptsOut",
    "CannotMove",
    "CannotRebuild",
    "CannotResume",
    "ChangedRun",
    "EventOut",
    "NewSweep",
    "RunDetail",
    "RunsOut",
    "bundle_file",
    "calls_for_restart",
    "cancel_job",
    "cancel_run",
    "cancel_runs",
    "check_config",
    "count_restarts",
    "create_due_restarts",
    "create_resume_attempt",
    "create_run",
    "default_run_name",
    "ended_with_site",
    "hold_run",
    "launch_sweep",
    "move_run",
    "new_attempt",
    "parent_name",
    "plan_restart",
    "purge_arrays",
    "purge_code",
    "rebuild_checkpoint",
    "release_run",
    "request_cancel",
    "request_end",
    "resources_of",
    "restart_budget",
    "resume_refusal",
    "run_detail",
    "runs_out",
    "submit_job",
    "transition",
    "update_facts",
]
