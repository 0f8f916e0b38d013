"""Random requests: any address, for any row of a site, by any caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.test import Client
from hypothesis import strategies as st

from tests.esweb.test_access_of_routes import routes
from tests.runs.attempt_records import NOON
from tests.security.expected_access import Caller
from tests.security.site_plans import Plan
from tests.security.site_rows import STEP, Site, mark
from tests.security.write_endpoints import launch_form
from workers.records import Metric, pack

POSTED = {
    "experiment-resume", "experiment-bulk", "experiment-undo", "experiment-shelve", "launch-check", "run-cancel",
    "run-resume", "run-restore", "run-rebuild-stop", "saved-view-change", "settings-token-revoke", "settings-person",
    "settings-secret-delete",
    "logout", "api:cancel", "api:resume", "api:clone", "api:push", "api:restore_run", "api:restore_experiment",
    "api:ask_for_checkpoint", "api:free_storage", "run-free",
    "api:revoke_token", "import-undo", "import-folder-stop", "api:import_folder",
    "api:stop_folder", "api:import_files", "api:beat_service",
    "api:withdraw_service", "api:cancel_sweep", "api:extend_sweep", "api:pause_sweep", "api:plan_sweep",
    "api:resume_sweep", "api:uncancel_sweep", "sweep-change", "sweep-extend", "api:hold", "api:move", "api:release",
    "api:remove_limit", "limit-set", "limit-remove", "queue-change",
    "tournament-change", "tournament-invite", "tournament-uninvite", "vote-choices", "vote-reveal",
    "judge-change", "assignment-change", "api:import_judgments", "api:assign_judge", "api:change_assignment",
    "api:invite_voters", "api:take_invitation_back", "api:order_board",
    "settings-cluster-test", "tournament-board-order", "viewer-cover", "flag-dismiss", "flag-undo", "home-notes",
    "chart-layout", "line-colour", "try-preset",
    "run-scoring-change", "api:cancel_scoring", "api:resume_scoring", "api:calibrate_judge", "api:restore_tournament",
    "api:test_cluster", "api:plan_gpu_memory", "api:check_preflight", "api:adapt_preset",
    "api:dismiss_flag", "api:undo_flag_dismissal", "api:send_heartbeat", "api:end_attempt",
    "launch-audit", "launch-audit-line",
    "api:import_experiment_archive",
    "label-set-archive", "api:decide_response", "api:import_label_file", "api:undo_last_label",
}  # fmt: skip
WITHOUT_SITE_CONTENT = {
    "login", "sign-in", "invitation", "health", "api-docs", "api:openapi-json", "api:api-root", "settings-password",
    "script-words",
    "import", "experiment-import",
}  # fmt: skip
OVERVIEWS = {
    "home", "home-standing", "experiments", "palette", "compare", "compare-chart", "compare-section", "compare-table",
    "bin", "share",
    "saved-views", "services", "api:find_services", "api:list_runs", "api:list_experiments", "api:list_views",
    "api:read_series",
}  # fmt: skip
"""Pages that list all rows that their reader may see."""
# Operations that share an address share a page: one name of each. The admin is for users who see everything.
ROUTE_NAMES = {address: name for name, address in routes() if not name.startswith("admin:")}
READ = sorted(OVERVIEWS), sorted(set(ROUTE_NAMES.values()) - POSTED - WITHOUT_SITE_CONTENT - OVERVIEWS)


@dataclass(frozen=True)
class Target:
    """The subject of a request: an experiment, a run, a view and a token, by their indices in the plan."""

    experiment: int
    run: int
    view: int
    token: int


@dataclass(frozen=True)
class Request:
    """A request: for a read the names of a route and of one of `QUERIES`, for a write a name of `WRITES`."""

    name: str
    target: Target
    query: str = ""


def callers(plan: Plan) -> list[Caller]:
    """Return every user's browser, every script, and a stranger."""
    return [*map(Caller, range(len(plan.people))), *(Caller(None, token) for token in plan.tokens), Caller()]


def requests(plan: Plan, names: list[str], count: int) -> st.SearchStrategy[list[Request]]:
    """Return a strategy for `count` requests with different names."""
    lists = (plan.experiments, plan.runs, plan.views, plan.tokens)
    targets = st.builds(Target, *(st.integers(0, len(rows) - 1) for rows in lists))
    queries = st.sampled_from(sorted(QUERIES))
    selected = st.lists(st.sampled_from(names), min_size=count, max_size=count, unique=True)
    return selected.flatmap(
        lambda names: st.tuples(*(st.builds(Request, st.just(name), targets, queries) for name in names)).map(list)
    )


def reads(plan: Plan) -> st.SearchStrategy[list[Request]]:
    """Return a strategy for twelve pages, half of them overviews."""
    overviews, details = READ
    return st.tuples(requests(plan, overviews, 6), requests(plan, details, 6)).map(lambda lists: [*lists[0], *lists[1]])


QUERIES: dict[str, Callable[[Site, Target], dict[str, Any]]] = {
    "": lambda site, aim: {},
    "words": lambda site, aim: {"q": mark(aim.experiment), "key": mark(aim.experiment)},
    "query": lambda site, aim: {"q": "state:failed,running", "name": "reward", "step": STEP, "key": "reward"},
    "runs": lambda site, aim: {
        "run": [r.uid for r in site.runs],
        "page": "compare",
        "name": "reward/mean",
        "key": "kl",
    },
    "run": lambda site, aim: {"run": site.runs[aim.run].uid, "page": "run", "key": mark(aim.experiment)},
    "experiment": lambda site, aim: {"experiment": site.experiments[aim.experiment].pk, "page": "experiment"},
    "clone": lambda site, aim: {"clone": site.runs[aim.run].uid, "baseline": site.runs[aim.run].uid},
    "bin": lambda site, aim: {"shelf": "bin", "tag": mark(aim.experiment)},
    "csv": lambda site, aim: {"as": "csv", "name": "reward", "section": "reward", "since": "7"},
}


def addresses(site: Site, target: Target) -> dict[str, str]:
    """Return route name -> address, for the target's rows."""
    run = site.runs[target.run]
    rows = {"experiments": site.experiments[target.experiment].pk, "views": site.views[target.view].pk}
    parameters = {"uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": STEP, "text": "nothing"}
    # A label set and its response have the number of the experiment.
    addresses_by_name = dict(routes({**parameters, "pk": rows["experiments"], "item": rows["experiments"]}))
    views = dict(routes({**parameters, "pk": rows["views"]}))
    return addresses_by_name | {name: address for name, address in views.items() if "/views/" in address}


def read(client: Client, site: Site, request: Request) -> HttpResponse:
    """Send a read and return the response."""
    address = addresses(site, request.target)[request.name]
    response: HttpResponse = client.get(address, QUERIES[request.query](site, request.target))
    return response


def write(client: Client, site: Site, request: Request) -> HttpResponse:
    """Send a request that would change something and return the response."""
    method, address, body = WRITES[request.name](site, request.target)
    arguments = {"data": body} if method == "form" else {"data": body, "content_type": "application/json"}
    response: HttpResponse = getattr(client, "post" if method == "form" else method)(address, **arguments)
    return response


Call = tuple[str, str, Any]
BY_FORM = {
    "edit experiment", "shelve experiment", "unshelve experiment", "resume all", "launch by form", "bulk tag",
    "bulk delete", "bulk cancel all", "cancel by form", "resume by form", "restore by form", "rebuild by form",
    "share view",
}  # fmt: skip


def in_api(request: Request) -> bool:
    """Return whether scripts may send the request too."""
    return request.name not in BY_FORM


def _experiment_call(method: str, tail: str, body: Any) -> Callable[[Site, Target], Call]:
    prefix = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{prefix}/experiments/{site.experiments[aim.experiment].pk}{tail}", body)


def _run_call(method: str, tail: str, body: Any) -> Callable[[Site, Target], Call]:
    prefix = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{prefix}/runs/{site.runs[aim.run].uid}{tail}", body)


def _all_runs(action: str, **fields: str) -> Callable[[Site, Target], Call]:
    def make_call(site: Site, target: Target) -> Call:
        experiment = site.experiments[target.experiment].pk
        return (
            "form",
            f"/experiments/{experiment}/bulk/",
            {"do": action, "run": [run.uid for run in site.runs], **fields},
        )

    return make_call


def _launch(site: Site, target: Target) -> Call:
    return "post", "/api/v1/runs", {"experiment": site.experiments[target.experiment].pk, "preset": "es-micro"}


def _report(site: Site, target: Target) -> Call:
    experiment = site.experiments[target.experiment].pk
    return "post", "/api/v1/runs", {"kind": "external", "experiment": experiment, "id": "program", "start": "1"}


def _attempt_call(action: str) -> Callable[[Site, Target], Call]:
    return lambda site, aim: ("post", f"/api/v1/attempts/esweb-{site.runs[aim.run].uid}-a1/{action}", {})


def _push(site: Site, target: Target) -> Call:
    line = pack(0, NOON, Metric(7, {"reward/mean": 7.0})).decode()
    return "post", f"/api/v1/attempts/esweb-{site.runs[target.run].uid}-a1/records?epoch=3", line


def _save_view(site: Site, target: Target) -> Call:
    experiment = site.experiments[target.experiment].pk
    return "post", "/api/v1/views", {"name": "new", "page": "experiment", "experiment": experiment}


def _view_call(method: str, tail: str, body: Any) -> Callable[[Site, Target], Call]:
    prefix = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{prefix}/views/{site.views[aim.view].pk}{tail}", body)


def _token_for(site: Site, target: Target) -> Call:
    return "post", "/api/v1/tokens", {"scope": "ingest", "run": site.runs[target.run].uid}


LOCAL_CONFIG = {"config": {"compute": {"cluster": "local"}}}
WRITES: dict[str, Callable[[Site, Target], Call]] = {
    "edit experiment": _experiment_call("form", "/edit/", {"name": "changed"}),
    "make public": _experiment_call("patch", "", {"is_private": False}),
    "rename experiment": _experiment_call("patch", "", {"name": "changed"}),
    "delete experiment": _experiment_call("delete", "", None),
    "restore experiment": _experiment_call("post", "/restore", {}),
    "shelve experiment": _experiment_call("form", "/shelve/", {"do": "delete"}),
    "unshelve experiment": _experiment_call("form", "/shelve/", {"do": "restore"}),
    "resume all": _experiment_call("form", "/resume/", {}),
    "launch by form": _experiment_call("form", "/launch/", launch_form()),
    "launch": _launch,
    "report run": _report,
    "send heartbeat": _attempt_call("heartbeat"),
    "end attempt": _attempt_call("end"),
    "bulk tag": _all_runs("tag", tag="changed"),
    "bulk delete": _all_runs("delete"),
    "bulk cancel all": _all_runs("cancel", all="1"),
    "cancel by form": _run_call("form", "/cancel/", {}),
    "resume by form": _run_call("form", "/resume/", {}),
    "restore by form": _run_call("form", "/restore/", {}),
    "rebuild by form": _run_call("form", "/checkpoints/", {"step": "3"}),
    "free disk space by form": _run_call("form", "/free/", {"part": ["rebuildable", "weights"], "sure": "on"}),
    "rename run": _run_call("patch", "", {"name": "changed"}),
    "delete run": _run_call("delete", "", None),
    "restore run": _run_call("post", "/restore", {}),
    "cancel run": _run_call("post", "/cancel", {}),
    "resume run": _run_call("post", "/resume", {}),
    "clone run": _run_call("post", "/clone", LOCAL_CONFIG),
    "rebuild": _run_call("post", "/checkpoints/3", {}),
    "free disk space": _run_call("post", "/storage/free", {"parts": ["rebuildable", "weights"]}),
    "push records": _push,
    "save view": _save_view,
    "share view": _view_call("form", "/change/", {"do": "share"}),
    "rename view": _view_call("patch", "", {"name": "changed"}),
    "delete view": _view_call("delete", "", None),
    "token for a run": _token_for,
}
