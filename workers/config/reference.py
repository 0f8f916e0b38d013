"""Write the reference of run.json as Markdown, from the config's fields:  python -m workers.config > docs/config.md"""

from __future__ import annotations

from workers.config.fields import ConfigField, Divisible, config_fields
from workers.config.methods import METHODS
from workers.config.presets import presets
from workers.config.run import RunConfig

HEAD = """# run.json

The settings that define a run. Unknown keys are rejected with a list of the known ones. `make config-reference`
generates this page from the code; `make check` fails if the two differ.
"""
SECTIONS = {
    "": "The run",
    "model": "The base model",
    "task": "The task",
    **{name: f"{method.title} (method {name})" for name, method in METHODS.items()},
    "evaluation": "Evaluation, the same for all methods",
    "compute": "Compute",
    "tracking": "Tracking",
}


def reference() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for prefix, title in SECTIONS.items():
        rows = [
            _row(k) for k in config_fields(RunConfig) if (k.path.partition(".")[0] if "." in k.path else "") == prefix
        ]
        parts.append(
            f"\n## {title}\n\n| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    rows = [f"| `{p.name}` | {p.title} | {p.why} |" for p in presets().values()]
    parts.append("\n## Presets\n\n| name | title | purpose |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def _row(field: ConfigField) -> str:
    kind = ", ".join(str(c) for c in field.choices) or field.kind.__name__
    limits = f" {field.bounds}" if field.bounds else ""
    if isinstance(field.bounds, Divisible):
        kind = ""
    default = "required" if field.required else f"`{field.default!r}`"
    task_note = f" (task {field.tag})" if field.tag else ""
    return f"| `{field.path}`{task_note} | {(kind + limits).strip()} | {default} | {' '.join(field.help.split())} |"
