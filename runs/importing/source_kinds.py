"""The kinds of sources: their names, the order in which they are read, and how a JSON document shows its kind."""

from __future__ import annotations

from runs.importing.readers import (
    countdown_results,
    evaluations,
    event_files,
    final_results,
    reports,
    scored_responses,
    tables,
    trainer_log,
    trainer_state,
)
from runs.importing.readers.log import LOG_KINDS
from runs.importing.readers.scored_responses import is_summary
from runs.models import RUN_FOLDER

TEXT = "text"
KINDS = (
    "ES and TRL logs, logs of es-at-scale, verl, eggroll-vllm and HyperscaleES, logs of jobs that failed, JSON of "
    "evaluations, reports and trainer states, logging.jsonl of ms-swift and trainer_log.jsonl of LLaMA-Factory, "
    "TensorBoard events, rewards and costs of responses, CSV and JSON lines with a step, run folders of esweb"
)
NOTHING_READ = f"Nothing was read. Supported are: {KINDS}."
ORDER = (
    RUN_FOLDER, TEXT, tables.KIND, trainer_log.KIND, event_files.KIND, trainer_state.KIND, evaluations.KIND,
    final_results.KIND, countdown_results.KIND, scored_responses.KIND, reports.KIND,
)  # fmt: skip
"""Order in which sources are read. Reports come last, because they are checked against evaluations."""
READ_KINDS = (*LOG_KINDS, *(kind for kind in ORDER if kind != TEXT))
DOCUMENT_CHECKS = {
    evaluations.KIND: evaluations.is_evaluation,
    reports.KIND: reports.is_report,
    trainer_state.KIND: trainer_state.is_trainer_state,
    final_results.KIND: final_results.is_final_evaluation,
    countdown_results.KIND: countdown_results.is_countdown_evaluation,
    scored_responses.KIND: is_summary,
}
DOCUMENT_KEYS = {
    "seed_results": evaluations.KIND, "log_history": trainer_state.KIND,
    "per_sample_results": f"{final_results.KIND}, {countdown_results.KIND}", "counts and R_mean": scored_responses.KIND,
}  # fmt: skip
"""Key of a JSON document -> the kind that it has."""
MULTI_FILE_KINDS = (event_files.KIND, scored_responses.KIND)
"""Kinds with several files in one source."""
