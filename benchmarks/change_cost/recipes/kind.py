"""A new kind of run, dummy: a method that repeats a greeting and succeeds."""

from __future__ import annotations

from benchmarks.change_cost.recipe import Create, Edit, Recipe

METHOD = """    "dummy": Method(
        "Greeting without training", "dummy", choice="A greeting, no training", is_section_optional=True
    ),
    "scorer": Method(
"""
CONFIG = '''"""Settings of a dummy: it repeats a greeting, and trains nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from workers.config.fields import Bounds, Resource


@dataclass(frozen=True)
class DummyConfig:
    """A greeting, and how often it is repeated."""

    greeting: str = "hello"
    """Text of the greeting."""
    times: Annotated[int, Bounds(at_least=1, at_most=100)] = 3
    """How often the greeting is repeated. Each is a step."""
    runs: Annotated[tuple[str, ...], Resource("runs")] = ()
    """Runs that it greets, such as run:<uid>@<step>."""
'''
TRAINER = '''"""The program of a dummy: one record per greeting, then its end."""

from __future__ import annotations

from workers.config import RunConfig
from workers.config.dummy import DummyConfig
from workers.records import Metric, RecordWriter


def greet(config: RunConfig, records: RecordWriter) -> None:
    """Record each greeting."""
    settings = config.dummy or DummyConfig()
    for step in range(1, settings.times + 1):
        print(settings.greeting, flush=True)
        records.write(Metric(step, {"dummy/greetings": float(step)}))
'''
KIND = '''"""Dummies: runs that repeat a greeting."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _
from django.utils.translation import ngettext_lazy

from runs.kinds.kind import Kind, Resumption

DUMMY = Kind(
    slug="dummy",
    methods=("dummy",),
    tabs=("overview", "curves", "log"),
    resumption=Resumption(
        refusal=_("%(name)s has repeated its greeting; clone it to repeat another"),
        note="greets again",
        message=_("%(name)s greets again, as attempt %(n)s."),
        preview=_("Greets again, as attempt %(n)s."),
    ),
    essential=("dummy.greeting",),
    is_listed=False,
    unlisted_text=ngettext_lazy("%(n)s dummy is not listed", "%(n)s dummies are not listed", "n"),
    show_text=ngettext_lazy("Show %(n)s dummy", "Show %(n)s dummies", "n"),
    results_template="run_page/dummy.html",
    counts_parts=True,
    can_be_judged=False,
)
'''
PAGE = """{% comment %}The greeting of a dummy. Needs: run.{% endcomment %}
<section class="panel" aria-labelledby="greeting-title">
  <h2 id="greeting-title">{% translate "Greeting" %}</h2>
  <p>{{ run.config.dummy.greeting }}</p>
</section>
"""
TEST = '''"""A dummy is launched by form and API, succeeds on the local cluster, and is shown as its kind declares."""

from __future__ import annotations

from pathlib import Path

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs import launching
from runs.kinds import KINDS
from runs.launching.config_form import LaunchForm
from runs.launching.run_names import default_run_name
from runs.launching.submit import spec_of
from runs.models import Cluster, Experiment, Run
from tests.runs.api_client import calls
from tests.runs.local_cluster import tick_until
from tests.runs.launching.test_launch_evaluations import started_run
from workers.config import RunConfig
from workers.config.resources import RUN_FOLDERS
from workers.executors.states import State

KIND = next(kind for kind in KINDS if kind.slug == "dummy")


def launch(ada: User, experiment: Experiment) -> Run:
    """Launch a dummy over the API."""
    config = {"method": "dummy", "dummy": {"greeting": "good morning", "times": 2}}
    body = {"experiment": experiment.pk, "config": config, "name": "greets"}
    reply = calls(ada).post("/api/v1/runs", body, content_type="application/json")
    assert reply.status_code == 201, reply.content
    return Run.objects.get(uid=reply.json()["uid"])


def page(client: Client, address: str) -> str:
    """Return the text of a page that opens."""
    reply = client.get(address)
    assert reply.status_code == 200
    return " ".join(reply.content.decode().split())


def test_form_makes_its_config(ada_client: Client, experiment: Experiment, local: Cluster) -> None:
    text = page(ada_client, reverse("launch", args=[experiment.pk]))
    assert 'name="method" value="dummy"' in text and "A greeting, no training" in text
    assert 'name="dummy.greeting"' in text
    form = LaunchForm({"method": "dummy", "dummy.times": "5", "seeds": "0"})
    assert form.is_valid(), form.errors
    assert form.configs[0].to_json()["dummy"] == {"greeting": "hello", "times": 5, "runs": ()}


def test_dummy_of_the_api_succeeds_on_the_local_cluster(
    ada: User, ada_client: Client, experiment: Experiment, local: Cluster, tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR, settings.RUNS_DIR = tmp_path, tmp_path / "runs"
    run = launch(ada, experiment)
    assert run.kind is KIND and run.name in page(ada_client, reverse("home"))
    attempt = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    assert attempt.state == State.SUCCEEDED.value, attempt.reason
    assert (attempt.directory / "log.txt").read_text().count("good morning") == 2


def test_page_has_its_tabs_and_its_line(ada: User, ada_client: Client, experiment: Experiment, local: Cluster) -> None:
    run = launch(ada, experiment)
    text = page(ada_client, run.get_absolute_url())
    tabs = text[text.index('id="run-tabs"') :].partition("</nav>")[0]
    assert tabs.count("<a ") == 3 and "Checkpoints" not in tabs and "Responses" not in tabs
    assert "<p>good morning</p>" in text and "part 0" in text
    assert ">Compare</a>" in text and ">Judge</a>" not in text and ">Evaluate</a>" not in text
    page(ada_client, reverse("run-log", args=[run.uid]))


def test_list_counts_it_and_a_query_shows_it(
    ada: User, ada_client: Client, experiment: Experiment, local: Cluster
) -> None:
    launch(ada, experiment)
    address = experiment.get_absolute_url()
    assert "Show 1 dummy" in page(ada_client, address)
    assert "greets" in page(ada_client, f"{address}?q=method:dummy")
    assert calls(ada).get("/api/v1/runs?method=dummy").json()["items"][0]["kind"] == "launched"


def test_run_that_names_others_has_a_parent_their_folders_and_a_name_without_uids(
    ada: User, experiment: Experiment, local: Cluster
) -> None:
    parents = [started_run(experiment) for _ in range(2)]
    config = {"method": "dummy", "dummy": {"runs": [f"run:{parent.uid}" for parent in parents]}}
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config))
    attempt = run.newest_attempt()
    assert attempt is not None and run.parent == parents[0]
    assert all(parent.uid in spec_of(attempt).env[RUN_FOLDERS] for parent in parents)
    assert default_run_name(run.run_config, "") == "dummy a run +1"
'''
RECIPE = Recipe(
    title="a kind of run",
    name="dummy",
    before="66–82",
    goal=15,
    steps=(
        Create("workers/config/dummy.py", CONFIG),
        Edit("workers/config/methods.py", '    "scorer": Method(\n', METHOD),
        Edit(
            "workers/config/run.py",
            "from workers.config.decode import",
            "from workers.config.dummy import DummyConfig\nfrom workers.config.decode import",
        ),
        Edit(
            "workers/config/run.py",
            "    scorer: ScorerConfig | None = None\n",
            "    dummy: DummyConfig | None = None\n    scorer: ScorerConfig | None = None\n",
        ),
        Edit("client/esweb_client/settings.py", '"audit", "scorer")', '"audit", "dummy", "scorer")'),
        Create("workers/probes/dummy.py", TRAINER),
        Edit(
            "workers/train.py",
            "    if not config.is_training:\n        return _examine",
            "    if config.dummy is not None:\n        from workers.probes.dummy import greet\n\n"
            '        greet(config, records)\n        return ""\n'
            "    if not config.is_training:\n        return _examine",
        ),
        Create("runs/kinds/dummy.py", KIND),
        Edit(
            "runs/kinds/__init__.py",
            "from runs.kinds.evaluation import",
            "from runs.kinds.dummy import DUMMY\nfrom runs.kinds.evaluation import",
        ),
        Edit(
            "runs/kinds/__init__.py",
            "KINDS = (TRAINING, EVALUATION, PROBE, AUDIT, SCORER)",
            "KINDS = (TRAINING, EVALUATION, PROBE, AUDIT, DUMMY, SCORER)",
        ),
        Create("templates/run_page/dummy.html", PAGE),
        Create("tests/runs/kinds/test_dummy.py", TEST),
    ),
    tests=(
        "tests/runs/kinds/test_dummy.py", "tests/runs/kinds/test_kinds.py", "tests/runs/kinds/test_comparisons.py",
        "tests/workers/config/test_reference.py", "tests/runs/translation",
    ),
    regenerate=(
        ("sh", "-c", ".venv/bin/python -B -m workers.config > docs/config.md"),
        ("sh", "-c", ".venv/bin/python -B -m runs.translation > marked.py && mv marked.py runs/translation/marked.py"),
    ),
)  # fmt: skip
