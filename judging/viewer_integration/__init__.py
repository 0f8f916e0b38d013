"""Judging on the pages of runs: verdicts in the response viewer, ratings of a run, and news of tournaments.

`runs` does not import this package: `JudgingConfig.ready` registers its annotations and palette entries with `runs`,
and pages of runs fetch the panels by URL.
"""

from judging.viewer_integration.annotations import Judged
from judging.viewer_integration.views import Placed, placed

__all__ = ["Judged", "Placed", "placed"]
