"""The REST API of judging: tournaments, judges, boards, and judgments in and out.

Its operations are on the router of `runs`, which thus holds all of the API; `esweb.api` mounts it.
"""

from __future__ import annotations

import judging.boards.api
import judging.exchange.api
import judging.judge_runs.api
import judging.judges.gold_api
import judging.judges.rubric_api
import judging.tournaments.api
import judging.voting.invitation_api  # noqa: F401  (each import adds its operations)
from runs.api import router

__all__ = ["router"]
