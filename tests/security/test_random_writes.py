"""On random sites with random requests: no row changes that the caller may not change according to the oracle.

A request may do less than its caller's rights allow, and never more. Requests with an effect are counted.
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
from tests.security.random_requests import WRITES, Request, callers, in_api, requests, write
from tests.security.site_plans import Plan
from tests.security.site_rows import Site, build_site

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
Row = dict[str, Any]
Rows = dict[tuple[type[models.Model], Any], Row]
ACCESS_TIMES = {"last_used_at", "last_login"}
"""Fields that change with each visit."""


@dataclass(frozen=True)
class Change:
    """A row that was created, changed or removed, in its last state."""

    kind: type[models.Model]
    pk: Any
    row: Row
    is_new: bool


def test_requests_change_only_allowed_rows() -> None:
    effective: Counter[str] = Counter()

    @on_random_sites(6)
    def send(data: st.DataObject, plan: Plan) -> None:
        sent = data.draw(requests(plan, sorted(WRITES), 12))
        site = build_site(plan)
        new_rows = read_rows()
        for request in sent:
            caller = data.draw(st.sampled_from(select_callers(plan, request)))
            old_rows = new_rows
            write(site.client(caller), site, request)
            new_rows = read_rows()
            changed_keys = [key for key in old_rows.keys() | new_rows.keys() if old_rows.get(key) != new_rows.get(key)]
            for kind, pk in changed_keys:
                change = Change(
                    kind, pk, new_rows.get((kind, pk)) or old_rows[kind, pk], is_new=(kind, pk) not in old_rows
                )
                assert may_change(site, caller, request, change), (caller, request, change)
            effective.update([request.name] if changed_keys else [])

    send()
    assert len(effective) > 5, f"only {sorted(effective)} ever did anything"


READS = ("me", "runs", "experiments", "tokens", "views", "presets")


def test_ingest_token_only_writes_its_run() -> None:
    statuses: Counter[int] = Counter()

    @on_random_sites(4)
    def push(data: st.DataObject, plan: Plan) -> None:
        plan = with_ingest_tokens(plan)
        site = build_site(plan)
        for caller in (who for who in callers(plan) if who.token and who.token.scope == "ingest"):
            client = site.client(caller)
            for n, run in enumerate(site.runs):
                statuses[status := push_status(client, run.uid)] += 1
                assert status in (401, 404) or expected_access.may_write_records(plan, caller, n)
            for address in (*READS, *(f"runs/{run.uid}" for run in site.runs)):
                assert client.get(f"/api/v1/{address}").status_code in (401, 403)

    push()
    assert statuses[200] and statuses[401] and statuses[404]


def test_fast_push_accepts_same_callers() -> None:
    counts: Counter[bool] = Counter()

    @on_random_sites(4)
    def compare_paths(data: st.DataObject, plan: Plan) -> None:
        plan = with_ingest_tokens(plan)
        site = build_site(plan)
        for caller in (who for who in callers(plan) if who.token):
            token = site.tokens[plan.tokens.index(caller.token)]
            for n, run in enumerate(site.runs):
                counts[is_accepted := is_writer(token, f"esweb-{run.uid}-a1")] += 1
                status = push_status(site.client(caller), run.uid)
                assert is_accepted == (status == 200 and caller.token.scope == "ingest"), (caller, n, status)

    compare_paths()
    assert counts[True] and counts[False]


def with_ingest_tokens(plan: Plan) -> Plan:
    """Return the plan with an additional ingest token for each token."""
    ingest_tokens = (replace(token, scope="ingest") for token in plan.tokens)
    return replace(plan, tokens=tuple(dict.fromkeys([*plan.tokens, *ingest_tokens])))


def is_writer(token: str, key: str) -> bool:
    """Return whether the statement of fast pushes returns the attempt for this token."""
    with connection.cursor() as cursor:
        cursor.execute(fast_insert.WRITER, fast_insert.writer(token, key))
        return bool(cursor.fetchall())


def select_callers(plan: Plan, request: Request) -> list[Caller]:
    """Return callers that would get a response beyond sign-in; most of them see the target and may not change it."""
    scripts_too, run = in_api(request), request.target.run
    candidates = [
        who for who in callers(plan) if (who.token is None or scripts_too) and (who.token or not is_push(request))
    ]
    experiment = plan.runs[run].experiment
    tempted = [
        who
        for who in candidates
        if expected_access.sees(plan, who, experiment) and not expected_access.may_change_run(plan, who, run)
    ]
    return 3 * tempted + candidates


def is_push(request: Request) -> bool:
    """Return whether the request pushes records, which only scripts send."""
    return request.name == "push records"


def is_report(request: Request) -> bool:
    """Return whether the request creates an external run, for which scope report is enough."""
    return request.name == "report run"


def push_status(client: Client, uid: str) -> int:
    """Return the status of an empty push to the run's first attempt."""
    address = f"/api/v1/attempts/esweb-{uid}-a1/records"
    return client.post(address, "", content_type="application/jsonl").status_code


def read_rows() -> Rows:
    """Return every row of users and of the app `runs`, without the fields ACCESS_TIMES."""
    kinds = {kind._meta.db_table: kind for kind in (User, Group, *apps.get_app_config("runs").get_models())}
    one_table = sql.SQL("SELECT {}, to_jsonb(t) - %s::text[] FROM {} AS t")
    all_tables = sql.SQL(" UNION ALL ").join(one_table.format(name, sql.Identifier(name)) for name in kinds)
    with connection.cursor() as cursor:
        cursor.execute(all_tables, len(kinds) * [sorted(ACCESS_TIMES)])
        loaded = [(kinds[name], json.loads(row)) for name, row in cursor]
    return {(kind, primary_key(kind, row)): row for kind, row in loaded}


def primary_key(kind: type[models.Model], row: Row) -> Any:
    """Return a row's key: for some models a tuple of several fields."""
    values = tuple(row[field.attname] for field in kind._meta.pk_fields)
    return values if len(values) > 1 else values[0]


def may_change(site: Site, caller: Caller, request: Request, change: Change) -> bool:
    """Return whether the oracle allows the caller to create, change or remove this row."""
    if change.kind is Experiment:
        experiment = position(site.experiments, change.pk)
        return not change.is_new and expected_access.may_change_experiment(site.plan, caller, experiment)
    if change.kind is SavedView:
        return may_change_view(site, caller, change.row)
    if change.kind is ApiToken:
        return change.is_new and may_have_token(site, caller, request, change.row)
    if change.kind is Run or change.row.keys() & {"run_id", "attempt_id"}:
        return may_change_run(site, caller, request, find_run(change))
    return False


def may_change_run(site: Site, caller: Caller, request: Request, run: Run) -> bool:
    """Return the oracle's decision for a run of the plan; for a new run its decision for the experiment."""
    if run.pk not in {site_run.pk for site_run in site.runs}:
        decide = expected_access.may_report_run if is_report(request) else expected_access.may_change_experiment
        return decide(site.plan, caller, position(site.experiments, run.experiment_id))
    n = position(site.runs, run.pk)
    may_push = is_push(request) and expected_access.may_write_records(site.plan, caller, n)
    return may_push or expected_access.may_change_run(site.plan, caller, n)


def may_change_view(site: Site, caller: Caller, row: Row) -> bool:
    """Return whether the view is the caller's own, of a visible experiment, and the caller is no viewer."""
    person = expected_access.person_of(caller)
    if not expected_access.may_create(site.plan, caller) or row["owner_id"] != site.people[person or 0].pk:
        return False
    experiment = row["experiment_id"]
    return experiment is None or expected_access.sees(site.plan, caller, position(site.experiments, experiment))


def may_have_token(site: Site, caller: Caller, request: Request, row: Row) -> bool:
    """Return whether the token is the caller's own, for a run that they may change.

    A script must send a token of scope admin, unless it creates an external run.
    """
    is_own = row["user_id"] == site.people[expected_access.person_of(caller) or 0].pk
    if is_report(request):
        run = Run.objects.get(pk=row["run_id"])
        return is_own and row["scope"] == "ingest" and may_change_run(site, caller, request, run)
    is_enough = caller.token is None or caller.token.scope == "admin"
    return (
        is_own and is_enough and expected_access.may_change_run(site.plan, caller, position(site.runs, row["run_id"]))
    )


def find_run(change: Change) -> Run:
    """Return the run that a row belongs to."""
    if change.kind is Run:
        return Run.objects.get(pk=change.pk)
    if "run_id" in change.row:
        return Run.objects.get(pk=change.row["run_id"])
    return Run.objects.get(attempts=change.row["attempt_id"])


def position(rows: list[Any], pk: int) -> int:
    """Return the index in the plan of the row with that key."""
    return [row.pk for row in rows].index(pk)
