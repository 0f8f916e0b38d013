"""The config of a run as its page shows it, and the commands that launch the run again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from runs.http import SignedIn, visible_run
from runs.launching.config_form import SETTINGS, can_be_cloned, field_name, help_of, short_text
from runs.metrics import task_of
from runs.models import Run
from runs.run_page.tabs import tab_page
from workers.config import ConfigField, RunConfig, config_fields

MAX_FOREIGN_SETTINGS = 60
"""Settings of another program's config that the overview shows. The tab shows all."""
MAX_UNKNOWN_LENGTH = 300
"""Characters of the value of an unknown setting that the page shows. The JSON below has all."""
END = "END_OF_CONFIG"
"""Ends a here-document. No line of printed JSON is only this: each begins with a space or a bracket."""


@dataclass(frozen=True)
class Entry:
    """A setting's value in one config; `field` is its field in the launch form, empty if it has none.

    full_value: the value as JSON if `value` shortens it, else an empty text.
    """

    name: str
    value: str
    help: str
    is_default: bool
    field: str
    full_value: str = ""

    @property
    def search_words(self) -> str:
        """Return the text that the page's search looks through: the name, the value and all that the value shortens."""
        return " ".join(filter(None, (self.name, self.value, self.full_value)))


def config_sections(config: Mapping[str, Any], *, is_foreign: bool = False) -> list[tuple[str, list[Entry]]]:
    """Return (section, its settings). JSONB forgets the order of keys, so the order is that of RunConfig; unknown keys
    come last. is_foreign: the config is another program's, in which names mean anything, so all keys are unknown."""
    settings_by_path = {} if is_foreign else _settings_by_path(task_of(config))
    order = {path: i for i, path in enumerate(settings_by_path)}
    sections: dict[str, list[Entry]] = {}
    for path, value in sorted(
        _leaves(config, settings_by_path), key=lambda leaf: (order.get(leaf[0], len(order)), leaf[0])
    ):
        section, _, name = path.rpartition(".")
        sections.setdefault(section, []).append(_entry(settings_by_path.get(path), name, value))
    return list(sections.items())


def changed_settings(run: Run) -> list[tuple[str, Entry]]:
    """Return (path, setting) of the settings of a run that differ from their defaults; of a program elsewhere the first
    MAX_FOREIGN_SETTINGS."""
    is_foreign = not can_be_cloned(run)
    changed = [
        (f"{section}.{entry.name}" if section else entry.name, entry)
        for section, entries in config_sections(run.config, is_foreign=is_foreign)
        for entry in entries
        if not entry.is_default
    ]
    return changed[:MAX_FOREIGN_SETTINGS] if is_foreign else changed


@require_safe
def run_config(request: SignedIn, uid: str) -> HttpResponse:
    """Render the tab: the whole config, and the commands that launch the run again."""
    run = visible_run(request, uid)
    context = {
        "config": config_sections(run.config, is_foreign=not can_be_cloned(run)),
        "is_foreign": not can_be_cloned(run),
        "config_json": json.dumps(run.config, indent=2, ensure_ascii=False),
        "by_esweb": esweb_command(run),
        "by_hand": train_command(run),
        "by_api": launch_command(run, request.build_absolute_uri("/api/v1/runs")),
    }
    return tab_page(request, run, "config", context)


def _settings_by_path(task: str) -> dict[str, ConfigField]:
    """Return settings by path, for a run of this task: tasks have options of the same name."""
    return {setting.path: setting for setting in config_fields(RunConfig) if setting.tag in ("", task)}


def _entry(setting: ConfigField | None, name: str, value: Any) -> Entry:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    if setting is None:
        # A section that is left out, such as grpo.vllm, or a key that this version does not know.
        is_long = len(text) > MAX_UNKNOWN_LENGTH
        shown = f"{text[:MAX_UNKNOWN_LENGTH]}…" if is_long else text
        return Entry(name, shown, "", is_default=value is None, field="", full_value=text if is_long else "")
    is_default = not setting.required and value == json.loads(json.dumps(setting.default))
    field = field_name(setting.path, setting.tag)
    entry = Entry(name, text, help_of(setting), is_default, field if field in SETTINGS else "")
    short = short_text(setting, value)
    return entry if short is None else replace(entry, value=short, full_value=text)


def _leaves(config: Mapping[str, Any], known_paths: Container[str], prefix: str = "") -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for key, value in config.items():
        inner = isinstance(value, Mapping) and f"{prefix}{key}" not in known_paths
        out += _leaves(value, known_paths, f"{prefix}{key}.") if inner else [(prefix + key, value)]
    return out


def train_command(run: Run) -> str:
    """Return the commands that write run.json and train from it on this machine, without a server."""
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    return f"cat > run.json <<'{END}'\n{config}\n{END}\npython -m workers.train run.json --out {run.uid}"


def esweb_command(run: Run) -> str:
    """Return the command that launches the run again with the command line, on the server that `esweb login` named."""
    config = json.dumps(run.config, indent=2, ensure_ascii=False)
    preset_args = ["--preset", run.preset] if run.preset else []
    words = shlex.join(["esweb", "launch", str(run.experiment_id), *preset_args, f"--name={run.name}", "--config", "-"])
    return f"{words} <<'{END}'\n{config}\n{END}"


def launch_command(run: Run, address: str) -> str:
    """Return the command that launches the run again over the API at `address`, with a token of scope launch in
    ESWEB_TOKEN."""
    payload = {"experiment": run.experiment_id, "preset": run.preset, "name": run.name, "config": run.config}
    body = json.dumps(payload, indent=2, ensure_ascii=False)
    return (
        f"curl --fail-with-body {shlex.quote(address)} \\\n"
        '  --header "Authorization: Bearer $ESWEB_TOKEN" --header "Content-Type: application/json" \\\n'
        f"  --data-binary @- <<'{END}'\n{body}\n{END}"
    )
