"""The Django app for judging: which response is better."""

from __future__ import annotations

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """Configuration of the app. judging imports runs, never the other way round."""

    name = "judging"

    def ready(self) -> None:
        """Let the response viewer show verdicts."""
        # Models cannot be imported before all apps are there.
        from judging.viewer_integration import JudgmentAnnotations
        from runs.responses import viewer

        viewer.register_source(JudgmentAnnotations())
