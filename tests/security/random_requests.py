"""Requests drawn at random: any address, for anything that is on a site, by anybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.test import Client
from hypothesis import strategies as st

from tests.esweb.test_every_address_is_closed import routes
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
    "api:ask_for_checkpoint", "api:revoke_token", "import-undo", "api:import_files", "api:beat_service",
    "api:withdraw_service", "api:cancel_sweep", "api:extend_sweep", "api:pause_sweep", "api:plan_sweep",
    "api:resume_sweep", "api:uncancel_sweep", "sweep-change", "sweep-extend", "api:hold", "api:move", "api:release",
    "api:remove_limit", "limit-set", "limit-remove", "queue-change",
    "tournament-change", "tournament-invite", "tournament-uninvite", "vote-choices", "vote-reveal",
    "judge-change", "assignment-change", "api:import_judgments", "api:assign_judge", "api:change_assignment",
    "api:invite_voters", "api:take_invitation_back", "api:order_board",
    "settings-cluster-test", "tournament-board-order", "viewer-cover",
    "run-scoring-change", "api:cancel_scoring", "api:resume_scoring", "api:calibrate_judge", "api:restore_tournament",
    "api:test_cluster", "api:plan_gpu_memory",
}  # fmt: skip
OF_NO_SITE = {
    "login", "sign-in", "invitation", "health", "api-docs", "api:openapi-json", "api:api-root", "settings-password",
    "script-words",
    "import",
}  # fmt: skip
OF_ALL = {
    "home", "home-standing", "experiments", "palette", "compare", "compare-chart", "compare-section", "bin", "share",
    "saved-views", "services", "api:find_services", "api:list_runs", "api:list_experiments", "api:list_views",
    "api:read_series",
}  # fmt: skip
"""Pages that speak of whatever their reader may see."""
# Operations that share an address share a page: one name of each. The admin is for those from whom nothing is hidden.
OF_ONE = {address: name for name, address in routes() if not name.startswith("admin:")}
READ = sorted(OF_ALL), sorted(set(OF_ONE.values()) - POSTED - OF_NO_SITE - OF_ALL)


@dataclass(frozen=True)
class Aim:
    """What a request is about: an experiment, a run, a view and a token, by their places in the plan."""

    experiment: int
    run: int
    view: int
    token: int


@dataclass(frozen=True)
class Request:
    """For a read the name of a route and of what stands after the ?; for a write one of `SENDS`."""

    name: str
    aim: Aim
    ask: str = ""


def callers(plan: Plan) -> list[Caller]:
    """Everybody's browser, every script, and a stranger."""
    return [*map(Caller, range(len(plan.people))), *(Caller(None, token) for token in plan.tokens), Caller()]


def requests(plan: Plan, names: list[str], count: int) -> st.SearchStrategy[list[Request]]:
    """So many of different names."""
    places = (plan.experiments, plan.runs, plan.views, plan.tokens)
    aims = st.builds(Aim, *(st.integers(0, len(place) - 1) for place in places))
    asks = st.sampled_from(sorted(ASKS))
    chosen = st.lists(st.sampled_from(names), min_size=count, max_size=count, unique=True)
    return chosen.flatmap(
        lambda names: st.tuples(*(st.builds(Request, st.just(name), aims, asks) for name in names)).map(list)
    )


def reads(plan: Plan) -> st.SearchStrategy[list[Request]]:
    """A dozen pages, half of them such as speak of everything."""
    of_all, of_one = READ
    return st.tuples(requests(plan, of_all, 6), requests(plan, of_one, 6)).map(lambda both: [*both[0], *both[1]])


ASKS: dict[str, Callable[[Site, Aim], dict[str, Any]]] = {
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


def addresses(site: Site, aim: Aim) -> dict[str, str]:
    """name of a route -> its address, for what is aimed at."""
    run = site.runs[aim.run]
    rows = {"experiments": site.experiments[aim.experiment].pk, "views": site.views[aim.view].pk}
    there = {"uid": run.uid, "key": f"esweb-{run.uid}-a1", "n": 1, "step": STEP, "text": "nothing"}
    found = dict(routes({**there, "pk": rows["experiments"]}))
    views = dict(routes({**there, "pk": rows["views"]}))
    return found | {name: address for name, address in views.items() if "/views/" in address}


def read(client: Client, site: Site, request: Request) -> HttpResponse:
    """The answer to a read."""
    address = addresses(site, request.aim)[request.name]
    answer: HttpResponse = client.get(address, ASKS[request.ask](site, request.aim))
    return answer


def write(client: Client, site: Site, request: Request) -> HttpResponse:
    """The answer to what would change something."""
    method, address, body = SENDS[request.name](site, request.aim)
    sent = {"data": body} if method == "form" else {"data": body, "content_type": "application/json"}
    answer: HttpResponse = getattr(client, "post" if method == "form" else method)(address, **sent)
    return answer


Sent = tuple[str, str, Any]
BY_FORM = {
    "edit experiment", "shelve experiment", "unshelve experiment", "resume all", "launch by form", "bulk tag",
    "bulk delete", "bulk cancel all", "cancel by form", "resume by form", "restore by form", "rebuild by form",
    "share view",
}  # fmt: skip


def in_api(request: Request) -> bool:
    """True for what scripts may send too."""
    return request.name not in BY_FORM


def _of_experiment(method: str, tail: str, body: Any) -> Callable[[Site, Aim], Sent]:
    before = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{before}/experiments/{site.experiments[aim.experiment].pk}{tail}", body)


def _of_run(method: str, tail: str, body: Any) -> Callable[[Site, Aim], Sent]:
    before = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{before}/runs/{site.runs[aim.run].uid}{tail}", body)


def _all_runs(do: str, **more: str) -> Callable[[Site, Aim], Sent]:
    def sent(site: Site, aim: Aim) -> Sent:
        home = site.experiments[aim.experiment].pk
        return "form", f"/experiments/{home}/bulk/", {"do": do, "run": [run.uid for run in site.runs], **more}

    return sent


def _launch(site: Site, aim: Aim) -> Sent:
    return "post", "/api/v1/runs", {"experiment": site.experiments[aim.experiment].pk, "preset": "es-micro"}


def _push(site: Site, aim: Aim) -> Sent:
    line = pack(0, NOON, Metric(7, {"reward/mean": 7.0})).decode()
    return "post", f"/api/v1/attempts/esweb-{site.runs[aim.run].uid}-a1/records?epoch=3", line


def _save_view(site: Site, aim: Aim) -> Sent:
    home = site.experiments[aim.experiment].pk
    return "post", "/api/v1/views", {"name": "new", "page": "experiment", "experiment": home}


def _of_view(method: str, tail: str, body: Any) -> Callable[[Site, Aim], Sent]:
    before = "" if method == "form" else "/api/v1"
    return lambda site, aim: (method, f"{before}/views/{site.views[aim.view].pk}{tail}", body)


def _token_for(site: Site, aim: Aim) -> Sent:
    return "post", "/api/v1/tokens", {"scope": "ingest", "run": site.runs[aim.run].uid}


HERE = {"config": {"compute": {"cluster": "local"}}}
SENDS: dict[str, Callable[[Site, Aim], Sent]] = {
    "edit experiment": _of_experiment("form", "/edit/", {"name": "changed"}),
    "make public": _of_experiment("patch", "", {"is_private": False}),
    "rename experiment": _of_experiment("patch", "", {"name": "changed"}),
    "delete experiment": _of_experiment("delete", "", None),
    "restore experiment": _of_experiment("post", "/restore", {}),
    "shelve experiment": _of_experiment("form", "/shelve/", {"do": "delete"}),
    "unshelve experiment": _of_experiment("form", "/shelve/", {"do": "restore"}),
    "resume all": _of_experiment("form", "/resume/", {}),
    "launch by form": _of_experiment("form", "/launch/", launch_form()),
    "launch": _launch,
    "bulk tag": _all_runs("tag", tag="changed"),
    "bulk delete": _all_runs("delete"),
    "bulk cancel all": _all_runs("cancel", all="1"),
    "cancel by form": _of_run("form", "/cancel/", {}),
    "resume by form": _of_run("form", "/resume/", {}),
    "restore by form": _of_run("form", "/restore/", {}),
    "rebuild by form": _of_run("form", "/checkpoints/", {"step": "3"}),
    "rename run": _of_run("patch", "", {"name": "changed"}),
    "delete run": _of_run("delete", "", None),
    "restore run": _of_run("post", "/restore", {}),
    "cancel run": _of_run("post", "/cancel", {}),
    "resume run": _of_run("post", "/resume", {}),
    "clone run": _of_run("post", "/clone", HERE),
    "rebuild": _of_run("post", "/checkpoints/3", {}),
    "push records": _push,
    "save view": _save_view,
    "share view": _of_view("form", "/change/", {"do": "share"}),
    "rename view": _of_view("patch", "", {"name": "changed"}),
    "delete view": _of_view("delete", "", None),
    "token for a run": _token_for,
}
