"""Who may see and do what: roles, tokens for scripts, and the rights that go beyond seeing.

What a person may see is in the QuerySets (`visible_to`). Changing belongs to fewer: whoever owns the experiment, or
made the run; and a viewer changes nothing at all.
"""

from runs.access.rights import (
    changeable,
    may_cancel,
    may_change,
    may_change_run,
    may_launch,
    may_make,
    may_manage_clusters,
    may_manage_people,
    may_rebuild,
    may_resume,
)
from runs.access.roles import CannotChangeRole, Role, give_role, note, refuse_last_admin, role_of
from runs.access.scorer_secrets import (
    CannotSaveSecret,
    SecretLost,
    delete_secret,
    find_secret,
    host_refusal,
    may_call,
    resolver_for,
    save_secret,
    token_of,
)
from runs.access.tokens import (
    DAYS,
    GRANTS,
    MAX_DAYS,
    PREFIX,
    USED_EVERY,
    CannotIssue,
    end_run_tokens,
    includes,
    issue,
    issue_run_token,
    revoke,
    verify,
)

__all__ = [
    "DAYS",
    "GRANTS",
    "MAX_DAYS",
    "PREFIX",
    "USED_EVERY",
    "CannotChangeRole",
    "CannotIssue",
    "CannotSaveSecret",
    "Role",
    "SecretLost",
    "changeable",
    "delete_secret",
    "end_run_tokens",
    "find_secret",
    "give_role",
    "host_refusal",
    "includes",
    "issue",
    "issue_run_token",
    "may_call",
    "may_cancel",
    "may_change",
    "may_change_run",
    "may_launch",
    "may_make",
    "may_manage_clusters",
    "may_manage_people",
    "may_rebuild",
    "may_resume",
    "note",
    "refuse_last_admin",
    "resolver_for",
    "revoke",
    "role_of",
    "save_secret",
    "token_of",
    "verify",
]
