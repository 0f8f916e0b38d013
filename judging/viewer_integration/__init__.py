"""Judging on the pages of runs: verdicts in the response viewer, ratings of a run, and news of tournaments.

`runs` does not import this package: the modules of addresses register annotations and palette entries with `runs`,
and pages of runs fetch the panels by URL.
"""

from judging.viewer_integration.annotations import JudgmentAnnotations
from judging.viewer_integration.views import LeaderboardEntry, list_leaderboard_entries

__all__ = ["JudgmentAnnotations", "LeaderboardEntry", "list_leaderboard_entries"]
