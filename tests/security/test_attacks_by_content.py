"""Attacks that succeeded on other trackers: data that is interpreted as something else.

Each test names its class, and the published case that it repeats on our own addresses.
"""

from __future__ import annotations

import ast
import gzip
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from esweb.celery import app as celery
from runs import launching
from runs.access import Scope, link_text
from runs.launching.submit import spec_of
from runs.models import Experiment, Run, SavedView
from tests.cases import each_case
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import answer
from tests.waiting import PATIENCE_SECONDS
from workers.config import RunConfig, preset
from workers.records import Alert, Metric, Status

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("esweb", "runs", "judging", "workers")
HTML = "<img src=x onerror=alert(1)></script><script>alert(2)</script>'\"{{7*191919}}"
RAW = (b"<img src=x", b"</script><script>", b"1343433")
needs_rows = pytest.mark.usefixtures("db", "local", "runs_dir")


@pytest.fixture
def hostile_run(experiment: Experiment, ada: User) -> Run:
    """Return a run with HTML in every text."""
    run = full_runs.make_run(experiment, "es-micro")
    note = f"{HTML}\n\n[here](javascript:alert(3)) ![x](https://evil.example/x.png) <b onclick=alert(4)>"
    config = {**run.config, "task": {"name": "conciseness", "options": {"system_prompt": HTML}}}
    Run.objects.filter(pk=run.pk).update(name=HTML, note=note, tags=[HTML[:40]], config=config)
    Experiment.objects.update(name=HTML, question=HTML, note=note, tags=[HTML[:40]])
    SavedView.objects.create(name=HTML, owner=ada, page="experiment", experiment=experiment, is_shared=True)
    response = answer(5, HTML, prompt=HTML, prompt_id=HTML, target=HTML)
    full_runs.record(
        run,
        [
            Status("training", HTML),
            full_runs.evaluation(5, -1.0),
            Metric(5, {"a/<b>x": 1.0}),
            response,
            Alert("error", HTML, 5),
        ],
    )
    run.attempts.update(reason=HTML)
    (run.attempts.get().directory).mkdir(parents=True)
    (run.attempts.get().directory / "log.txt").write_text(f"{HTML}\n\x1b]8;;javascript:alert(5)\x07click\x1b]8;;\x07\n")
    return Run.objects.get(pk=run.pk)


def page_addresses(run: Run, ada: User) -> Iterator[str]:
    """Yield the address of every page that shows the run."""
    uid, experiment_id = run.uid, run.experiment_id
    yield from ("/", "/experiments/", "/views/", "/bin/", "/palette/?q=img", f"/compare/?run={uid}", "/api/v1/docs")
    tails = ("", "edit/", "launch/", f"launch/?clone={uid}", "runs/", f"?q={quote(HTML)}")
    yield from (f"/experiments/{experiment_id}/{tail}" for tail in tails)
    tails = ("", "state/", "past/", "curves/", "responses/", "checkpoints/", "log/")
    yield from (f"/runs/{uid}/{tail}" for tail in tails)
    yield from (f"/runs/{uid}/chart/?name=reward&as={form}" for form in ("words", "table"))
    yield f"/shared/{link_text(ada, Scope.RUN, [uid], 'day')}/"
    yield f"/shared/{link_text(ada, Scope.EXPERIMENT, [experiment_id], 'day')}/"


@needs_rows
def test_run_texts_are_escaped_in_pages(ada: User, ada_client: Client, hostile_run: Run) -> None:
    """Scripts in names, notes, parameters and answers: MLflow's stored XSS (CVE-2024-27132, -27133) and its like."""
    for address in page_addresses(hostile_run, ada):
        is_part = address.startswith(f"/runs/{hostile_run.uid}/") and not address.endswith(f"{hostile_run.uid}/")
        page = ada_client.get(address, headers={"hx-request": "true"} if is_part else {})
        assert page.status_code == 200, address
        assert not [raw for raw in RAW if raw in page.content], address
        assert b'href="javascript:' not in page.content.lower()
        assert b'src="http' not in page.content, "a picture from elsewhere tells there who looks"
        assert "script-src 'self'" in page["Content-Security-Policy"] and page["X-Content-Type-Options"] == "nosniff"


@needs_rows
def test_run_files_are_not_served_as_html(ada_client: Client, hostile_run: Run) -> None:
    """Artifacts that a browser opens as a page of the site: MLflow's uploads, the other half of CVE-2026-2651."""
    for address in (f"/runs/{hostile_run.uid}/log.txt", f"/runs/{hostile_run.uid}/chart/?name=reward&as=csv"):
        file = ada_client.get(address)
        assert file.status_code == 200 and file["X-Content-Type-Options"] == "nosniff"
        assert file["Content-Type"].startswith("text/") and "html" not in file["Content-Type"]
        checkpoint_files.close(file)


INJECTIONS = [
    "config.a'; DROP TABLE runs_run; --", 'config.a" OR 1=1 --', "reward/mean') OR ('1'='1", "es.sigma}')::text--",
    "config.%s", "created_by__password", "experiment__owner__password",
    "tags' || set_config('esweb.injected', 'yes', false) || '",
]  # fmt: skip


@needs_rows
@each_case("name", INJECTIONS)
def test_column_names_are_not_sql(ada: User, ada_client: Client, experiment: Experiment, name: str) -> None:
    """Column names in filters: W&B 0.79 began to escape them. Ours also may not reach over a relation."""
    User.objects.filter(pk=ada.pk).update(password="!zq7password")
    ada_client.force_login(User.objects.get(pk=ada.pk))
    full_runs.make_run(experiment)
    for params in ({"q": f'"{name}":1'}, {"q": f"{name}>0"}, {"sort": name}, {"sort": f"-{name}"}, {"col": name}):
        page = ada_client.get(experiment.get_absolute_url(), params)
        assert page.status_code in (200, 400) and "zq7password" not in page.content.decode()
    script = calls(ada, "read")
    for params in ({"tag": name}, {"q": name}, {"preset": name}, {"state": name}, {"cursor": name}):
        assert script.get("/api/v1/runs", params).status_code in (200, 422)
    assert Run.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('esweb.injected', true)")
        assert cursor.fetchone() == (None,)


@contextmanager
def fails_after_timeout(awaited: str) -> Iterator[None]:
    """Fail the test if the block has not ended after PATIENCE_SECONDS: the attacked code hangs."""

    def raise_timeout(*_: object) -> None:
        raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s for {awaited} to end")

    old_handler = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)


SLOW = [
    "(a+)+$", "(a|a)*b", "((a{1,99}){1,99}){1,99}x", "(.*)*(.*)*(.*)*\\1y", "(" * 99, "a" * 200,
    "[[:alpha:]]*" * 15 + "1",
]  # fmt: skip
HARD = ['"' * 1999, '"\\' * 999, "a:" + '"x",' * 400, "-" * 2000, "(" * 2000, "a:1 " * 499, "~" * 999]
PAINFUL = ["[" * 100_000, '{"a":' * 50_000, '{"name": ' + "1" * 5000 + "}", '{"name": 1e999}', "\ud800", "{}x"]


@needs_rows
@each_case("pattern", SLOW)
def test_endless_pattern_is_cancelled(ada_client: Client, experiment: Experiment, pattern: str) -> None:
    """Regular expressions that take exponential time, in a search that is open to all users with a link."""
    run = full_runs.make_run(experiment)
    full_runs.record(run, [Metric(0, {"a" * 240: 1.0, "b/" + "ab" * 120: 1.0})])
    with fails_after_timeout("the search for the pattern"):
        assert ada_client.get("/compare/", {"run": run.uid, "key": pattern}).status_code == 200


@needs_rows
@each_case("query", HARD)
def test_complex_query_is_parsed(ada_client: Client, experiment: Experiment, query: str) -> None:
    """The same attack by the site's query language, also in a form, whose length no address limits."""
    with fails_after_timeout("the reading of the query"):
        assert ada_client.get(experiment.get_absolute_url(), {"q": query}).status_code in (200, 400)
    form = {"do": "tag", "tag": "x", "all": "1", "back": f"q={quote(query * 100)}"}
    # Beyond some megabytes Django reads no form at all.
    with fails_after_timeout("the reading of the form"):
        assert ada_client.post(reverse("experiment-bulk", args=[experiment.pk]), form).status_code in (302, 400)


@needs_rows
@pytest.mark.parametrize("size", [1 << 28])
def test_inflating_body_is_refused(ada: User, experiment: Experiment, size: int) -> None:
    """Decompression bombs: a gzip of a gigabyte is a megabyte."""
    run = full_runs.make_run(experiment)
    piece = gzip.compress(b"\n" * (size // 16), compresslevel=9)
    for bomb in (piece * 16, gzip.compress(gzip.compress(b"x" * (size // 16)))):
        response = calls(ada, "ingest", run=run).post(
            f"/api/v1/attempts/esweb-{run.uid}-a1/records", bomb, content_type="application/jsonl",
            headers={"content-encoding": "gzip"},
        )  # fmt: skip
        assert response.status_code in (413, 422)


@needs_rows
@each_case("body", PAINFUL)
def test_hostile_json_is_refused(ada: User, body: str) -> None:
    """Bodies that exhaust a parser: deep, endless, half a character."""
    for address in ("/api/v1/runs", "/api/v1/experiments"):
        response = calls(ada).post(address, body.encode("utf-8", "surrogatepass"), content_type="application/json")
        assert response.status_code in (400, 422), address


@needs_rows
@each_case("key", ["command", "entrypoint", "image", "env", "script", "pip", "git_url", "shell"])
def test_launch_accepts_no_command(ada: User, key: str) -> None:
    """Jobs that run a command of the request: the other half of CVE-2026-0545. A launch selects existing options."""
    body = {"experiment_name": "x", "preset": "es-micro", "config": {key: "touch /tmp/x", "compute": {key: "x"}}}
    response = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert (response.status_code, set(paths(response))) == (422, {key, f"compute.{key}"})
    assert not Run.objects.exists()


@needs_rows
def test_user_texts_are_not_in_commands(ada: User, experiment: Experiment) -> None:
    """Arguments that a shell reads: W&B 0.28.2 began to quote them. Ours are lists without texts of users."""
    word = "$(touch /tmp/x); `id` && --out=/"
    config = {**preset("es-micro").config, "task": {"name": "conciseness", "options": {"system_prompt": word}}}
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config), name=word)
    spec = spec_of(run.attempts.select_related("run", "cluster").get())
    assert spec.argv[1:] == ("-m", "workers.train", "run.json", "--out", ".")
    assert not any("touch" in text for text in (spec.key, str(spec.directory), *spec.env, *spec.env.values()))


def find_calls(source: Path) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call of a module with its dotted name; the name is empty for calls such as f()()."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield dotted_name(node.func), node


def dotted_name(node: ast.expr) -> str:
    """Return the name as it is written, without spaces."""
    if isinstance(node, ast.Attribute):
        prefix = dotted_name(node.value)
        return prefix and f"{prefix}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@each_case("package", PACKAGES)
def test_code_uses_no_pickle_or_shell(package: str) -> None:
    """Pickled models and artifacts that run code when they are read, the cause of most of MLflow's cases."""
    unsafe = ("pickle.", "marshal.", "shelve.", "dill.", "joblib.", "yaml.load", "os.system", "os.popen")
    for source in (ROOT / package).rglob("*.py"):
        for name, call in find_calls(source):
            assert not name.startswith(unsafe) and name not in ("eval", "exec"), f"{source}:{call.lineno}"
            keywords = {w.arg: ast.unparse(w.value) for w in call.keywords if w.arg in ("shell", "weights_only")}
            assert keywords.get("shell", "False") == "False", f"{source}:{call.lineno}"
            assert name != "torch.load" or keywords.get("weights_only") == "True", f"{source}:{call.lineno}"


def test_jobs_and_sessions_are_json() -> None:
    """The same attack by the queue, which any process that reaches it could write to."""
    assert set(celery.conf.accept_content) == {"json"} and celery.conf.task_serializer == "json"
    assert settings.SESSION_SERIALIZER.endswith("JSONSerializer")


@needs_rows
def test_refused_push_has_short_error(ada: User, experiment: Experiment) -> None:
    """Responses that repeat the request's body at its full size."""
    run = full_runs.make_run(experiment)
    line = json.dumps({"seq": 0, "t": 0, "kind": HTML * 10_000})
    response = calls(ada, "ingest", run=run).post(
        f"/api/v1/attempts/esweb-{run.uid}-a1/records", line, content_type="application/jsonl"
    )
    assert (response.status_code, response["Content-Type"]) == (422, "application/problem+json")
    assert len(response.content) < 2000
