"""Who may see and change what, said once more and plainly, without a line of the site's own: what the fuzz judges by.

- Whoever may not sign in sees nothing.
- An experiment that is private is seen by its owner and by admins; any other by everybody who may sign in.
- A run is seen by whoever sees its experiment, and changed by whoever made it, who owns its experiment, and admins; an
  experiment is changed by its owner and by admins. A viewer changes nothing. Nobody changes what they do not see.
- A token does what its person may: one of scope read reads, launch reads and changes, admin everything, ingest writes
  records of its own run and nothing else. An expired one does nothing.
- A link shows its runs, but for what is private or in the bin, while its person is active and may make things.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.security.site_plans import Link, Plan, Token

READS = {"read", "launch", "admin"}
CHANGES = {"launch", "admin"}


@dataclass(frozen=True)
class Caller:
    """Somebody's browser, or a script with a token. Neither is a stranger."""

    person: int | None = None
    token: Token | None = None


def is_let_in(plan: Plan, caller: Caller) -> bool:
    """True where the site knows who calls."""
    if caller.token is not None:
        return plan.people[caller.token.person].active and not caller.token.expired
    return caller.person is not None and plan.people[caller.person].active


def acts_for(caller: Caller) -> int | None:
    """The person."""
    return caller.person if caller.token is None else caller.token.person


def may_read(plan: Plan, caller: Caller) -> bool:
    """True where the caller sees anything at all."""
    return is_let_in(plan, caller) and (caller.token is None or caller.token.scope in READS)


def sees(plan: Plan, caller: Caller, experiment: int) -> bool:
    """True where an experiment, and all of its runs, is not hidden from the caller."""
    if not may_read(plan, caller):
        return False
    person, what = acts_for(caller), plan.experiments[experiment]
    return not what.private or what.owner == person or plan.people[person or 0].role == "admin"


def sees_all(plan: Plan, caller: Caller) -> bool:
    """True where no experiment is hidden from the caller."""
    return all(sees(plan, caller, experiment) for experiment in range(len(plan.experiments)))


def may_change_experiment(plan: Plan, caller: Caller, experiment: int) -> bool:
    """True where the caller may rename, archive, delete it, or launch in it."""
    return _may(plan, caller, experiment, {plan.experiments[experiment].owner})


def may_change_run(plan: Plan, caller: Caller, run: int) -> bool:
    """True where the caller may rename, cancel, resume, delete it."""
    what = plan.runs[run]
    return _may(plan, caller, what.experiment, {plan.experiments[what.experiment].owner, what.maker})


def may_write_records(plan: Plan, caller: Caller, run: int) -> bool:
    """True where a script may push what a run has measured."""
    token = caller.token
    if token is None or not is_let_in(plan, caller):
        return False
    if token.scope == "ingest":
        return token.run == run
    return token.scope == "admin" and may_change_run(plan, caller, run)


def may_make(plan: Plan, caller: Caller) -> bool:
    """True where the caller may make and share things of their own."""
    if not is_let_in(plan, caller) or (caller.token is not None and caller.token.scope not in CHANGES):
        return False
    return plan.people[acts_for(caller) or 0].role != "viewer"


def shows(plan: Plan, link: Link) -> set[int]:
    """The runs that a link shows to whoever has it."""
    person = plan.people[link.person]
    if link.expired or person.took_back or not person.active or person.role == "viewer":
        return set()
    return {run for run in link.runs if _is_open_to_all(plan, run)}


def _may(plan: Plan, caller: Caller, experiment: int, entitled: set[int]) -> bool:
    if not sees(plan, caller, experiment) or (caller.token is not None and caller.token.scope not in CHANGES):
        return False
    person = acts_for(caller)
    role = plan.people[person or 0].role
    return role == "admin" or (role == "member" and person in entitled)


def _is_open_to_all(plan: Plan, run: int) -> bool:
    home = plan.experiments[plan.runs[run].experiment]
    return not home.private and "bin" not in (home.shelf, plan.runs[run].shelf)
