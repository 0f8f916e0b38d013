"""The REST API of judging: tournaments, judges, boards, and judgments in and out.

Its operations are on the router of `runs.http`, which holds all of the API; `esweb.api` mounts that.
"""

from __future__ import annotations

import judging.boards.api
import judging.exchange.api
import judging.judge_runs.api
import judging.judges.api
import judging.tournaments.api
import judging.voting.api  # noqa: F401  (each import adds its operations)
