"""Who may write a run's records with a token that is bound to it: `verify` and `visible_to` as one piece of SQL.

A push asks this of the database in the statement that writes, so a right that has ended ends with the next push.
"""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from runs.access import USED_EVERY
from runs.access.tokens import digest

# One row or none. `is_worn` says that its use is to be noted again.
WRITER = """
SELECT token.id AS token_id, attempt.id AS attempt_id, attempt.n, run.id AS run_id, run.uid,
       coalesce(token.last_used_at < %(noted_before)s, true) AS is_worn
FROM runs_apitoken token
JOIN auth_user person ON person.id = token.user_id AND person.is_active
JOIN runs_run run ON run.id = token.run_id AND run.deleted_at IS NULL
JOIN runs_experiment experiment ON experiment.id = run.experiment_id AND experiment.deleted_at IS NULL
    AND (person.is_superuser OR NOT experiment.is_private OR experiment.owner_id = person.id)
JOIN runs_attempt attempt ON attempt.run_id = run.id AND attempt.key = %(key)s
WHERE token.digest = %(digest)s AND token.scope IN ('ingest', 'run') AND token.expires_at > %(now)s
"""


def writer(token: str, key: str) -> dict[str, str | datetime]:
    """What WRITER asks for: the writer who shows `token`, of the attempt `key`."""
    now = timezone.now()
    return {"digest": digest(token), "key": key, "now": now, "noted_before": now - USED_EVERY}
