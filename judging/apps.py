"""Judging, as a Django app: whose answer is better."""

from __future__ import annotations

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """Looks at runs, never back."""

    name = "judging"

    def ready(self) -> None:
        """From now on pages of runs show what judges said, and the command palette finds tournaments."""
        # Models cannot be imported before all apps are there.
        from judging.viewer_integration import Judged
        from judging.viewer_integration.palette import tournament_entries
        from runs import http
        from runs.responses import viewer

        viewer.tell(Judged())
        http.register_source(tournament_entries)
