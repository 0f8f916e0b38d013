"""Attacks that other trackers fell to: what is sent as data and believed as something else.

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
from tests.runs import checkpoint_files, full_runs
from tests.runs.api_client import calls, paths
from tests.runs.attempt_records import answer
from tests.waiting import PATIENCE_SECONDS
from workers.config import preset
from workers.records import Alert, Metric, Status

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("esweb", "runs", "judging", "workers")
HTML = "<img src=x onerror=alert(1)></script><script>alert(2)</script>'\"{{7*191919}}"
RAW = (b"<img src=x", b"</script><script>", b"1343433")
needs_rows = pytest.mark.usefixtures("db", "local", "runs_dir")


@pytest.fixture
def hostile(experiment: Experiment, ada: User) -> Run:
    """A run whose every text is HTML."""
    run = full_runs.make_run(experiment, "es-micro")
    note = f"{HTML}\n\n[here](javascript:alert(3)) ![x](https://evil.example/x.png) <b onclick=alert(4)>"
    config = {**run.config, "task": {"name": "conciseness", "options": {"system_prompt": HTML}}}
    Run.objects.filter(pk=run.pk).update(name=HTML, note=note, tags=[HTML[:40]], config=config)
    Experiment.objects.update(name=HTML, question=HTML, note=note, tags=[HTML[:40]])
    SavedView.objects.create(name=HTML, owner=ada, page="experiment", experiment=experiment, is_shared=True)
    said = answer(5, HTML, prompt=HTML, prompt_id=HTML, target=HTML)
    full_runs.record(
        run,
        [
            Status("training", HTML),
            full_runs.evaluation(5, -1.0),
            Metric(5, {"a/<b>x": 1.0}),
            said,
            Alert("error", HTML, 5),
        ],
    )
    run.attempts.update(reason=HTML)
    (run.attempts.get().directory).mkdir(parents=True)
    (run.attempts.get().directory / "log.txt").write_text(f"{HTML}\n\x1b]8;;javascript:alert(5)\x07click\x1b]8;;\x07\n")
    return Run.objects.get(pk=run.pk)


def shown(run: Run, ada: User) -> Iterator[str]:
    """Every page that shows something of it."""
    uid, home = run.uid, run.experiment_id
    yield from ("/", "/experiments/", "/views/", "/bin/", "/palette/?q=img", f"/compare/?run={uid}", "/api/v1/docs")
    tails = ("", "edit/", "launch/", f"launch/?clone={uid}", "runs/", f"?q={quote(HTML)}")
    yield from (f"/experiments/{home}/{tail}" for tail in tails)
    tails = ("", "state/", "past/", "curves/", "responses/", "checkpoints/", "log/")
    yield from (f"/runs/{uid}/{tail}" for tail in tails)
    yield from (f"/runs/{uid}/chart/?name=reward&as={form}" for form in ("words", "table"))
    yield f"/shared/{link_text(ada, Scope.RUN, [uid], 'day')}/"
    yield f"/shared/{link_text(ada, Scope.EXPERIMENT, [home], 'day')}/"


@needs_rows
def test_no_text_of_a_run_becomes_html(ada: User, ada_client: Client, hostile: Run) -> None:
    """Scripts in names, notes, parameters and answers: MLflow's stored XSS (CVE-2024-27132, -27133) and its like."""
    for address in shown(hostile, ada):
        is_part = address.startswith(f"/runs/{hostile.uid}/") and not address.endswith(f"{hostile.uid}/")
        page = ada_client.get(address, headers={"hx-request": "true"} if is_part else {})
        assert page.status_code == 200, address
        assert not [raw for raw in RAW if raw in page.content], address
        assert b'href="javascript:' not in page.content.lower()
        assert b'src="http' not in page.content, "a picture from elsewhere tells there who looks"
        assert "script-src 'self'" in page["Content-Security-Policy"] and page["X-Content-Type-Options"] == "nosniff"


@needs_rows
def test_files_of_a_run_are_no_pages(ada_client: Client, hostile: Run) -> None:
    """Artifacts that a browser opens as a page of the site: MLflow's uploads, CVE-2026-2651's other half."""
    for address in (f"/runs/{hostile.uid}/log.txt", f"/runs/{hostile.uid}/chart/?name=reward&as=csv"):
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
@pytest.mark.parametrize("name", INJECTIONS)
def test_names_of_columns_are_no_sql(ada: User, ada_client: Client, experiment: Experiment, name: str) -> None:
    """Column names in filters: W&B 0.79 began to escape them. Ours also may not reach over a relation."""
    User.objects.filter(pk=ada.pk).update(password="!zq7password")
    ada_client.force_login(User.objects.get(pk=ada.pk))
    full_runs.make_run(experiment)
    for ask in ({"q": f'"{name}":1'}, {"q": f"{name}>0"}, {"sort": name}, {"sort": f"-{name}"}, {"col": name}):
        page = ada_client.get(experiment.get_absolute_url(), ask)
        assert page.status_code in (200, 400) and "zq7password" not in page.content.decode()
    script = calls(ada, "read")
    for ask in ({"tag": name}, {"q": name}, {"preset": name}, {"state": name}, {"cursor": name}):
        assert script.get("/api/v1/runs", ask).status_code in (200, 422)
    assert Run.objects.count() == 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('esweb.injected', true)")
        assert cursor.fetchone() == (None,)


@contextmanager
def ends(awaited: str) -> Iterator[None]:
    """Fail the test where the block has not ended by itself after PATIENCE_SECONDS: what is attacked hangs."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"waited {PATIENCE_SECONDS:.0f} s for {awaited} to end")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


SLOW = [
    "(a+)+$", "(a|a)*b", "((a{1,99}){1,99}){1,99}x", "(.*)*(.*)*(.*)*\\1y", "(" * 99, "a" * 200,
    "[[:alpha:]]*" * 15 + "1",
]  # fmt: skip
HARD = ['"' * 1999, '"\\' * 999, "a:" + '"x",' * 400, "-" * 2000, "(" * 2000, "a:1 " * 499, "~" * 999]
PAINFUL = ["[" * 100_000, '{"a":' * 50_000, '{"name": ' + "1" * 5000 + "}", '{"name": 1e999}', "\ud800", "{}x"]


@needs_rows
@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_would_search_for_ever_is_given_up(
    ada_client: Client, experiment: Experiment, pattern: str
) -> None:
    """Regular expressions that take exponential time, in a search that is open to everybody with a link."""
    run = full_runs.make_run(experiment)
    full_runs.record(run, [Metric(0, {"a" * 240: 1.0, "b/" + "ab" * 120: 1.0})])
    with ends("the search for the pattern"):
        assert ada_client.get("/compare/", {"run": run.uid, "key": pattern}).status_code == 200


@needs_rows
@pytest.mark.parametrize("query", HARD)
def test_a_query_that_is_hard_to_read_is_read(ada_client: Client, experiment: Experiment, query: str) -> None:
    """The same by our own language of queries, also in a form, whose length no address limits."""
    with ends("the reading of the query"):
        assert ada_client.get(experiment.get_absolute_url(), {"q": query}).status_code in (200, 400)
    sent = {"do": "tag", "tag": "x", "all": "1", "back": f"q={quote(query * 100)}"}
    # Beyond some megabytes Django reads no form at all.
    with ends("the reading of the form"):
        assert ada_client.post(reverse("experiment-bulk", args=[experiment.pk]), sent).status_code in (302, 400)


@needs_rows
@pytest.mark.parametrize("size", [1 << 28])
def test_a_small_body_that_inflates_is_cut_off(ada: User, experiment: Experiment, size: int) -> None:
    """Decompression bombs: a gzip of a gigabyte is a megabyte."""
    run = full_runs.make_run(experiment)
    piece = gzip.compress(b"\n" * (size // 16), compresslevel=9)
    for bomb in (piece * 16, gzip.compress(gzip.compress(b"x" * (size // 16)))):
        pushed = calls(ada, "ingest", run=run).post(
            f"/api/v1/attempts/esweb-{run.uid}-a1/records", bomb, content_type="application/jsonl",
            headers={"content-encoding": "gzip"},
        )  # fmt: skip
        assert pushed.status_code in (413, 422)


@needs_rows
@pytest.mark.parametrize("body", PAINFUL)
def test_json_made_to_hurt_is_refused(ada: User, body: str) -> None:
    """Bodies that exhaust a parser: deep, endless, half a character."""
    for address in ("/api/v1/runs", "/api/v1/experiments"):
        sent = calls(ada).post(address, body.encode("utf-8", "surrogatepass"), content_type="application/json")
        assert sent.status_code in (400, 422), address


@needs_rows
@pytest.mark.parametrize("key", ["command", "entrypoint", "image", "env", "script", "pip", "git_url", "shell"])
def test_a_launch_takes_no_command(ada: User, key: str) -> None:
    """Jobs that run what the request says: CVE-2026-0545's other half. A launch chooses among what there is."""
    body = {"experiment_name": "x", "preset": "es-micro", "config": {key: "touch /tmp/x", "compute": {key: "x"}}}
    refused = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert (refused.status_code, set(paths(refused))) == (422, {key, f"compute.{key}"})
    assert not Run.objects.exists()


@needs_rows
def test_no_word_of_a_user_stands_in_a_command(ada: User, experiment: Experiment) -> None:
    """Arguments that a shell reads: W&B 0.28.2 began to quote them. Ours are lists, and nobody's words are in them."""
    word = "$(touch /tmp/x); `id` && --out=/"
    config = {**preset("es-micro").config, "task": {"name": "conciseness", "options": {"system_prompt": word}}}
    run = launching.create_run(experiment=experiment, person=ada, config=config, name=word)
    spec = spec_of(run.attempts.select_related("run", "cluster").get())
    assert spec.argv[1:] == ("-m", "workers.train", "run.json", "--out", ".")
    assert not any("touch" in text for text in (spec.key, str(spec.directory), *spec.env, *spec.env.values()))


def calls_in(source: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a module by its dotted name; the name of what has none, as f()(), is empty."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node


def dotted(node: ast.expr) -> str:
    """The name as it is written, without spaces."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("package", OURS)
def test_nothing_reads_objects_or_starts_a_shell(package: str) -> None:
    """Pickled models and artifacts that run code when they are read, which most of MLflow's cases end in."""
    unsafe = ("pickle.", "marshal.", "shelve.", "dill.", "joblib.", "yaml.load", "os.system", "os.popen")
    for source in (ROOT / package).rglob("*.py"):
        for name, call in calls_in(source):
            assert not name.startswith(unsafe) and name not in ("eval", "exec"), f"{source}:{call.lineno}"
            said = {w.arg: ast.unparse(w.value) for w in call.keywords if w.arg in ("shell", "weights_only")}
            assert said.get("shell", "False") == "False", f"{source}:{call.lineno}"
            assert name != "torch.load" or said.get("weights_only") == "True", f"{source}:{call.lineno}"


def test_jobs_and_sessions_travel_as_json() -> None:
    """The same by the queue, which whoever reaches it could write to."""
    assert set(celery.conf.accept_content) == {"json"} and celery.conf.task_serializer == "json"
    assert settings.SESSION_SERIALIZER.endswith("JSONSerializer")


@needs_rows
def test_a_hostile_push_is_told_what_is_wrong_and_not_all_of_itself(ada: User, experiment: Experiment) -> None:
    """Answers that repeat what was sent, as large as it was."""
    run = full_runs.make_run(experiment)
    line = json.dumps({"seq": 0, "t": 0, "kind": HTML * 10_000})
    refused = calls(ada, "ingest", run=run).post(
        f"/api/v1/attempts/esweb-{run.uid}-a1/records", line, content_type="application/jsonl"
    )
    assert (refused.status_code, refused["Content-Type"]) == (422, "application/problem+json")
    assert len(refused.content) < 2000
