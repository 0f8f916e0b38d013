"""External runs: a program elsewhere trains them and reports them here."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext_noop as _

from runs.kinds.kind import Kind, Origin

EXTERNAL = Origin("external", {"external__isnull": False})


def external(kind: Kind) -> Kind:
    """Return a kind as its external runs have it."""
    return replace(
        kind,
        origin=EXTERNAL,
        origin_template="run_page/reported.html",
        no_curves_template="run_page/no_reported_curves.html",
        location_text="was trained elsewhere and only reported here",
        is_reported=True,
        resume_refusal=_(
            "%(name)s trains elsewhere and is only reported here: start its program again there to continue it"
        ),
        cancel_refusal=_("%(name)s trains elsewhere and is only reported here: stop its program where it runs."),
        move_refusal=_("%(name)s trains elsewhere and is only reported here, so it cannot be %(what)s"),
        rebuild_refusal=_(
            "The run trains elsewhere and is only reported here; its checkpoints are on the machine where it runs."
        ),
    )
