"""On sites drawn at random, with requests drawn at random: no row changes that the oracle says the caller may not.

A request may do less than its caller might; it never does more. That they do something at all is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import connection, models
from django.test import Client
from hypothesis import strategies as st
from psycopg import sql

from runs.ingest import fast_insert
from runs.models import ApiToken, Experiment, Run, SavedView
from tests.security import expected_access
from tests.security.expected_access import Caller
from tests.security.plan_strategy import on_random_sites
from tests.security.random_requests import SENDS, Request, callers, in_api, requests, write
from tests.security.site_plans import Plan
from tests.security.site_rows import Site, build

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
Row = dict[str, Any]
Rows = dict[tuple[type[models.Model], Any], Row]
LOOKED_AT = {"last_used_at", "last_login"}
"""What changes because somebody came."""


@dataclass(frozen=True)
class Change:
    """A row that was made, changed or removed, as it is or was last."""

    kind: type[models.Model]
    pk: Any
    row: Row
    is_new: bool


def test_no_request_changes_what_its_caller_may_not_change() -> None:
    done: Counter[str] = Counter()

    @on_random_sites(12)
    def send(data: st.DataObject, plan: Plan) -> None:
        sent = data.draw(requests(plan, sorted(SENDS), 12))
        site = build(plan)
        after = rows()
        for request in sent:
            caller = data.draw(st.sampled_from(able(plan, request)))
            before = after
            write(site.client(caller), site, request)
            after = rows()
            changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
            for kind, pk in changed:
                change = Change(kind, pk, after.get((kind, pk)) or before[kind, pk], is_new=(kind, pk) not in before)
                assert may_change(site, caller, request, change), (caller, request, change)
            done.update([request.name] if changed else [])

    send()
    assert len(done) > 5, f"only {sorted(done)} ever did anything"


READS = ("me", "runs", "experiments", "tokens", "views", "presets")


def test_an_ingest_token_writes_its_run_and_reads_nothing() -> None:
    statuses: Counter[int] = Counter()

    @on_random_sites(6)
    def push(data: st.DataObject, plan: Plan) -> None:
        plan = with_ingest_tokens(plan)
        site = build(plan)
        for caller in (who for who in callers(plan) if who.token and who.token.scope == "ingest"):
            client = site.client(caller)
            for n, run in enumerate(site.runs):
                statuses[status := pushed(client, run.uid)] += 1
                assert status in (401, 404) or expected_access.may_write_records(plan, caller, n)
            for address in (*READS, *(f"runs/{run.uid}" for run in site.runs)):
                assert client.get(f"/api/v1/{address}").status_code in (401, 403)

    push()
    assert statuses[200] and statuses[401] and statuses[404]


def test_the_quick_way_for_pushes_lets_in_whom_the_long_way_does() -> None:
    counts: Counter[bool] = Counter()

    @on_random_sites(6)
    def look(data: st.DataObject, plan: Plan) -> None:
        plan = with_ingest_tokens(plan)
        site = build(plan)
        for caller in (who for who in callers(plan) if who.token):
            token = site.tokens[plan.tokens.index(caller.token)]
            for n, run in enumerate(site.runs):
                counts[found := is_writer(token, f"esweb-{run.uid}-a1")] += 1
                status = pushed(site.client(caller), run.uid)
                assert found == (status == 200 and caller.token.scope == "ingest"), (caller, n, status)

    look()
    assert counts[True] and counts[False]


def with_ingest_tokens(plan: Plan) -> Plan:
    """Return the plan with an ingest token beside each token."""
    beside = (replace(token, scope="ingest") for token in plan.tokens)
    return replace(plan, tokens=tuple(dict.fromkeys([*plan.tokens, *beside])))


def is_writer(token: str, key: str) -> bool:
    """True where the statement of quick pushes finds the attempt for this token."""
    with connection.cursor() as cursor:
        cursor.execute(fast_insert.WRITER, fast_insert.writer(token, key))
        return bool(cursor.fetchall())


def able(plan: Plan, request: Request) -> list[Caller]:
    """Who would be asked more than to sign in; most of them see what is aimed at and may not change it."""
    scripts_too, run = in_api(request), request.aim.run
    some = [who for who in callers(plan) if (who.token is None or scripts_too) and (who.token or not is_push(request))]
    home = plan.runs[run].experiment
    tempted = [
        who
        for who in some
        if expected_access.sees(plan, who, home) and not expected_access.may_change_run(plan, who, run)
    ]
    return 3 * tempted + some


def is_push(request: Request) -> bool:
    """True for records, which only scripts send."""
    return request.name == "push records"


def pushed(client: Client, uid: str) -> int:
    """The answer's status to a push of nothing to the run's first attempt."""
    address = f"/api/v1/attempts/esweb-{uid}-a1/records"
    return client.post(address, "", content_type="application/jsonl").status_code


def rows() -> Rows:
    """Every row of people and of our app, but for what merely says that somebody came."""
    kinds = {kind._meta.db_table: kind for kind in (User, Group, *apps.get_app_config("runs").get_models())}
    of_one = sql.SQL("SELECT {}, to_jsonb(t) - %s::text[] FROM {} AS t")
    of_all = sql.SQL(" UNION ALL ").join(of_one.format(name, sql.Identifier(name)) for name in kinds)
    with connection.cursor() as cursor:
        cursor.execute(of_all, len(kinds) * [sorted(LOOKED_AT)])
        found = [(kinds[name], json.loads(row)) for name, row in cursor]
    return {(kind, pk_of(kind, row)): row for kind, row in found}


def pk_of(kind: type[models.Model], row: Row) -> Any:
    """A row's key: of some kinds several fields together."""
    values = tuple(row[field.attname] for field in kind._meta.pk_fields)
    return values if len(values) > 1 else values[0]


def may_change(site: Site, caller: Caller, request: Request, change: Change) -> bool:
    """True where the oracle lets the caller make, change or remove this row."""
    if change.kind is Experiment:
        home = place(site.experiments, change.pk)
        return not change.is_new and expected_access.may_change_experiment(site.plan, caller, home)
    if change.kind is SavedView:
        return may_change_view(site, caller, change.row)
    if change.kind is ApiToken:
        return change.is_new and may_have_token(site, caller, change.row)
    if change.kind is Run or change.row.keys() & {"run_id", "attempt_id"}:
        return may_change_run(site, caller, request, run_of(change))
    return False


def may_change_run(site: Site, caller: Caller, request: Request, run: Run) -> bool:
    """As the oracle says of a run of the plan; of one that was just launched, what it says of its experiment."""
    if run.pk not in {known.pk for known in site.runs}:
        return expected_access.may_change_experiment(site.plan, caller, place(site.experiments, run.experiment_id))
    n = place(site.runs, run.pk)
    may_push = is_push(request) and expected_access.may_write_records(site.plan, caller, n)
    return may_push or expected_access.may_change_run(site.plan, caller, n)


def may_change_view(site: Site, caller: Caller, row: Row) -> bool:
    """One's own, unless one is a viewer, and of an experiment that one sees."""
    person = expected_access.acts_for(caller)
    if not expected_access.may_make(site.plan, caller) or row["owner_id"] != site.people[person or 0].pk:
        return False
    home = row["experiment_id"]
    return home is None or expected_access.sees(site.plan, caller, place(site.experiments, home))


def may_have_token(site: Site, caller: Caller, row: Row) -> bool:
    """One's own, for a run that one may change; a script must show a token of scope admin."""
    is_own = row["user_id"] == site.people[expected_access.acts_for(caller) or 0].pk
    is_enough = caller.token is None or caller.token.scope == "admin"
    return is_own and is_enough and expected_access.may_change_run(site.plan, caller, place(site.runs, row["run_id"]))


def run_of(change: Change) -> Run:
    """The run that a row is of."""
    if change.kind is Run:
        return Run.objects.get(pk=change.pk)
    if "run_id" in change.row:
        return Run.objects.get(pk=change.row["run_id"])
    return Run.objects.get(attempts=change.row["attempt_id"])


def place(known: list[Any], pk: int) -> int:
    """Where in the plan the row of that key is."""
    return [row.pk for row in known].index(pk)
