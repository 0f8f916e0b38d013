"""Files in an attempt's directory as imports and exports see them: which are read, which are copied, which never are.

`workers.attempt` describes most of them. A folder of an attempt is named `esweb-<uid>-a<n>` on a site, and has any name
if `python -m workers.train run.json --out FOLDER` wrote it.
"""

from __future__ import annotations

import re

from workers.attempt import EXIT_RECORD, LOG_FILE, NODE_CONTACT, REPLAY_LOG, RUN_CONFIG, TOKEN_FILES

SPEC, JOB_LOG = "spec.json", "slurm.log"
SITE_FACTS, SITE_SCORES = "site.json", "scores.jsonl"
"""Files of exports only: what the site knows of the attempt and no record states (`workers.site_facts`), and the scores
that it gave the responses afterwards."""
CHECKPOINTS = "checkpoints"
RECORDS_NAME = re.compile(r"records\.([0-9]+)\.jsonl", re.ASCII)
MAX_EPOCH = 2**31 - 2
"""Largest epoch of an agent: the next number closes a lease."""
ATTEMPT_NAME = re.compile(r"esweb-([0-9a-z]{10})-a([1-9][0-9]{0,8})", re.ASCII)
"""Name of an attempt's directory on a site: the uid of its run, and its number."""
STEP_NAME = re.compile(r"step-([0-9]{6,18})", re.ASCII)
"""Name of a checkpoint's folder."""
COPIED_FILES = (
    RUN_CONFIG, LOG_FILE, JOB_LOG, REPLAY_LOG, "evaluate.json", "probe.json", "probed-steps.json", "reward-audit.json",
)  # fmt: skip
"""Files that an import copies into the new attempt's directory, where pages, replays and probes read them."""
READ_FILES = (RUN_CONFIG, EXIT_RECORD, SPEC, SITE_FACTS, SITE_SCORES)
"""Files that an import reads, besides records."""
EXPERIMENT_FILE, EXPERIMENT_FOLDERS = "esweb-experiment.json", ("labels", "tournaments")
"""File of the archive of an experiment, beside a folder with its runs, and the folders beside it that have no runs."""
EXPORT_FILES = ("README.md", "load.py")
"""Files of an export beside the folders of attempts, which no import needs."""
PROCESS_FILES = ("heartbeat.json", "lease.json", "mirror.json", "copied.json")
"""Files about processes that have ended, which no import needs."""
SECRET_FILES = (*TOKEN_FILES, NODE_CONTACT)
"""Files with tokens, which are never read, sent or exported."""
OWN_FOLDERS = re.compile(r"claim(\.[0-9]+)?|tensorboard|wandb|adapters|__pycache__", re.ASCII)
"""Folders that a trainer or an agent writes, and that no import needs: they repeat the records, or are about processes
that have ended."""
CHECKPOINT_FILE = re.compile(
    r"([a-z0-9_-]{1,40}/)?([A-Za-z0-9_-]{1,80}\.(json|safetensors|jinja|txt|md)|model\.safetensors\.index\.json"
    r"|tokenizer\.model)|evaluation-due",
    re.ASCII,
)
"""Path of a checkpoint's file below its folder. Optimizer and random states are left out: they are pickles, which may
run code where they are loaded."""
