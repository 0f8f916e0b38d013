"""The config of a run as its page shows it, and the commands that launch the run again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from runs.launching.config_form import KNOBS, explained, field_name
from runs.models import Run
from workers.config import Knob, RunConfig, knobs

END = "END_OF_CONFIG"
"""Ends a here-document. No line of printed JSON is only this: each begins with a space or a bracket."""


@dataclass(frozen=True)
class Entry:
    """A knob as it stands in one config; `field` is its field in the launch form, empty where it has none."""

    name: str
    value: str
    help: str
    is_default: bool
    field: str


def config_sections(config: Mapping[str, Any]) -> list[tuple[str, list[Entry]]]:
    """(section, its knobs). JSONB forgets the order of keys, so it comes from RunConfig; unknown keys stand last."""
    known = _knobs((config.get("task") or {}).get("name", ""))
    order = {path: i for i, path in enumerate(known)}
    found: dict[str, list[Entry]] = {}
    for path, value in sorted(_leaves(config, known), key=lambda leaf: (order.get(leaf[0], len(order)), leaf[0])):
        section, _, name = path.rpartition(".")
        found.setdefault(section, []).append(_entry(known.get(path), name, value))
    return list(found.items())


def _knobs(task: str) -> dict[str, Knob]:
    """By path, for a run of this task: tasks have options of the same name."""
    return {knob.path: knob for knob in knobs(RunConfig) if knob.tag in ("", task)}


def _entry(knob: Knob | None, name: str, value: Any) -> Entry:
    default = json.loads(json.dumps(knob.default)) if knob and not knob.required else ...
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    field = field_name(knob.path, knob.tag) if knob else ""
    return Entry(name, text, explained(knob) if knob else "", value == default, field if field in KNOBS else "")


def _leaves(config: Mapping[str, Any], known: Container[str], prefix: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in config.items():
        inner = isinstance(value, Mapping) and f"{prefix}{key}" not in known
        out += _leaves(value, known, f"{prefix}{key}.") if inner else [(prefix + key, value)]
    return out


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
