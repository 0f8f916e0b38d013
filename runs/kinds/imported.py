"""Imported runs: read from files of another program, finished."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext_noop as _

from runs.kinds.kind import Kind, Origin

IMPORTED = Origin("imported", {"source__isnull": False})


def imported(kind: Kind) -> Kind:
    """Return a kind as its imported runs have it."""
    return replace(
        kind,
        origin=IMPORTED,
        origin_template="run_page/imported.html",
        location_text="was imported",
        has_progress=False,
        has_plain_note=True,
        resume_refusal=_("%(name)s was imported and is not resumed here; clone it to train it here"),
        rebuild_refusal=_("The run was imported: only the checkpoints that came with it can be downloaded."),
    )
