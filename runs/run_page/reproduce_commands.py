"""A run's config as what a person can paste into a shell: the command line or a call that launches it again, or the
trainer by hand."""

from __future__ import annotations

import json
import shlex

from runs.models import Run

END = "END_OF_CONFIG"
"""Ends a here-document. No line of printed JSON is only this: each begins with a space or a bracket."""


def train_command(run: Run) -> str:
    """Writes run.json and trains from it, here, without a server."""
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    return f"cat > run.json <<'{END}'\n{config}\n{END}\npython -m workers.train run.json --out {run.uid}"


def esweb_command(run: Run) -> str:
    """Launches it again with the command line, on the server that `esweb login` named."""
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    asked = ["--preset", run.preset] if run.preset else []
    words = shlex.join(["esweb", "launch", str(run.experiment_id), *asked, f"--name={run.name}", "--config", "-"])
    return f"{words} <<'{END}'\n{config}\n{END}"


def launch_command(run: Run, address: str) -> str:
    """Launches it again over the API at `address`, with a token that has the scope launch in ESWEB_TOKEN."""
    asked = {"experiment": run.experiment_id, "preset": run.preset, "name": run.name, "config": run.config}
    body = json.dumps(asked, indent=2, ensure_ascii=False)
    return (
        f"curl --fail-with-body {shlex.quote(address)} \\\n"
        '  --header "Authorization: Bearer $ESWEB_TOKEN" --header "Content-Type: application/json" \\\n'
        f"  --data-binary @- <<'{END}'\n{body}\n{END}"
    )
