"""Expected rights to see and change rows, written without the site's code: the oracle of the fuzz tests.

- A caller who may not sign in sees nothing.
- A private experiment is visible to its owner and to admins; any other to all users who may sign in.
- A run is visible to users who see its experiment, and changed by its creator, its experiment's owner, and admins; an
  experiment is changed by its owner and by admins. A viewer changes nothing. Nobody changes invisible rows.
- A token has its user's rights: scope read reads, launch reads and changes, admin does everything, ingest only writes
  records of its own run, and report only creates external runs. An expired token does nothing.
- A link shows its runs, except private or deleted ones, while its user is active and may create rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.security.site_plans import Link, Plan, Token

READS = {"read", "launch", "admin"}
CHANGES = {"launch", "admin"}


@dataclass(frozen=True)
class Caller:
    """A user's browser, or a script with a token. Without both the caller is a stranger."""

    person: int | None = None
    token: Token | None = None


def is_known(plan: Plan, caller: Caller) -> bool:
    """Return whether the site accepts the caller's session or token."""
    if caller.token is not None:
        return plan.people[caller.token.person].active and not caller.token.expired
    return caller.person is not None and plan.people[caller.person].active


def person_of(caller: Caller) -> int | None:
    """Return the index of the caller's user, or None for a stranger."""
    return caller.person if caller.token is None else caller.token.person


def may_read(plan: Plan, caller: Caller) -> bool:
    """Return whether the caller sees anything at all."""
    return is_known(plan, caller) and (caller.token is None or caller.token.scope in READS)


def sees(plan: Plan, caller: Caller, experiment: int) -> bool:
    """Return whether the caller sees an experiment with all of its runs."""
    if not may_read(plan, caller):
        return False
    person, target = person_of(caller), plan.experiments[experiment]
    return not target.private or target.owner == person or plan.people[person or 0].role == "admin"


def sees_all(plan: Plan, caller: Caller) -> bool:
    """Return whether the caller sees every experiment."""
    return all(sees(plan, caller, experiment) for experiment in range(len(plan.experiments)))


def may_change_experiment(plan: Plan, caller: Caller, experiment: int) -> bool:
    """Return whether the caller may rename, archive or delete the experiment, or launch in it."""
    return _may_change(plan, caller, experiment, {plan.experiments[experiment].owner})


def may_report_run(plan: Plan, caller: Caller, experiment: int) -> bool:
    """Return whether the caller may create an external run in the experiment: scope report permits this alone."""
    token = caller.token
    if token is not None and token.scope == "report":
        return is_known(plan, caller) and may_change_experiment(plan, Caller(token.person), experiment)
    return may_change_experiment(plan, caller, experiment)


def may_change_run(plan: Plan, caller: Caller, run: int) -> bool:
    """Return whether the caller may rename, cancel, resume or delete the run."""
    target = plan.runs[run]
    return _may_change(plan, caller, target.experiment, {plan.experiments[target.experiment].owner, target.maker})


def may_write_records(plan: Plan, caller: Caller, run: int) -> bool:
    """Return whether a script may push records of the run."""
    token = caller.token
    if token is None or not is_known(plan, caller):
        return False
    if token.scope == "ingest":
        return token.run == run
    return token.scope == "admin" and may_change_run(plan, caller, run)


def may_create(plan: Plan, caller: Caller) -> bool:
    """Return whether the caller may create and share own rows."""
    if not is_known(plan, caller) or (caller.token is not None and caller.token.scope not in CHANGES):
        return False
    return plan.people[person_of(caller) or 0].role != "viewer"


def visible_runs(plan: Plan, link: Link) -> set[int]:
    """Return the runs that a link shows."""
    person = plan.people[link.person]
    if link.expired or person.links_revoked or not person.active or person.role == "viewer":
        return set()
    return {run for run in link.runs if _is_open_to_all(plan, run)}


def _may_change(plan: Plan, caller: Caller, experiment: int, entitled: set[int]) -> bool:
    if not sees(plan, caller, experiment) or (caller.token is not None and caller.token.scope not in CHANGES):
        return False
    person = person_of(caller)
    role = plan.people[person or 0].role
    return role == "admin" or (role == "member" and person in entitled)


def _is_open_to_all(plan: Plan, run: int) -> bool:
    experiment = plan.experiments[plan.runs[run].experiment]
    return not experiment.private and "bin" not in (experiment.shelf, plan.runs[run].shelf)
