"""The reference of run.json, as Markdown, made from the knobs:  python -m workers.config > docs/config.md"""

from __future__ import annotations

from workers.config.knobs import Knob, knobs
from workers.config.presets import presets
from workers.config.run import RunConfig

HEAD = """# run.json

Everything that makes a run what it is. Unknown keys are refused with the list of known ones. Made from the code by
`make config-reference`; `make check` fails where the two differ.
"""
SECTIONS = {
    "": "The run",
    "model": "The base model",
    "task": "The task",
    "es": "Evolution Strategies (method es)",
    "grpo": "GRPO (method grpo), in TRL's own names",
    "scorer": "A scorer (method scorer)",
    "evaluation": "Evaluation, the same for both methods",
    "compute": "Where it runs",
    "tracking": "How records come back",
}


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for prefix, title in SECTIONS.items():
        rows = [_row(k) for k in knobs(RunConfig) if (k.path.partition(".")[0] if "." in k.path else "") == prefix]
        parts.append(
            f"\n## {title}\n\n| key | type | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    rows = [f"| `{p.name}` | {p.title} | {p.why} |" for p in presets().values()]
    parts.append("\n## Presets\n\n| name | title | why |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def _row(knob: Knob) -> str:
    kind = ", ".join(str(c) for c in knob.choices) or knob.kind.__name__
    limits = f" {knob.bounds}" if knob.bounds else ""
    default = "required" if knob.required else f"`{knob.default!r}`"
    where = f" (task {knob.tag})" if knob.tag else ""
    return f"| `{knob.path}`{where} | {kind}{limits} | {default} | {' '.join(knob.help.split())} |"
