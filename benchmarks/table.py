"""Measure the page of the runs table: 100 000 runs of one experiment, each with a config and 20 keys, filtered and
sorted.

    python -m benchmarks.table

The real page over HTTP from one web server process, with charts of the listed runs, in every way below in turn. The
goals are those of the slowest twentieth of the answers and of the largest page.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from datetime import timedelta
from urllib.parse import unquote_plus, urlencode

from benchmarks import results, servers
from benchmarks.closed_loop import Page, get, percentile

RUNS, ROUNDS = 100_000, 5
GOAL_MS, GOAL_KB = 200.0, 60.0
KEYS = (
    "reward/mean", "reward/std", "reward/min", "reward/max", "kl", "accuracy/contains", "accuracy/exact", "cost/mean",
    "lambda", "safety/safe_ratio", "response/tokens_mean", "response/clipped_ratio", "time/step_seconds", "es/dead",
    "es/update_norm", "train/loss", "train/grad_norm", "train/entropy", "axes/tokens", "axes/samples",
)  # fmt: skip
# The pages of one sitting: every kind of key, filtered, sorted, both, further down the list.
QUERIES = (
    {},
    {"sort": "-reward/mean"},
    {"sort": "kl"},
    {"sort": "-train/loss.max"},
    {"sort": "es.sigma"},
    {"sort": "-es.population"},
    {"sort": "es.antithetic"},
    {"sort": "model.path"},
    {"sort": "grpo.beta"},
    {"sort": "name"},
    {"sort": "-state"},
    {"sort": "method"},
    {"sort": "preset"},
    {"sort": "-seed"},
    {"sort": "-step"},
    {"sort": "step"},
    {"sort": "-time"},
    {"sort": "created"},
    {"sort": "by"},
    {"sort": "recipe"},
    {"q": "kl<0.5"},
    {"q": "kl<0.01", "sort": "-reward/mean"},
    {"q": "kl>1.5", "sort": "kl"},
    {"q": "-kl<0.5"},
    {"q": "reward/mean>0.9 kl<0.2", "sort": "es.sigma"},
    {"q": "reward/mean.max>0.5 kl:0.5..1", "sort": "-step"},
    {"q": "train/loss:none"},
    {"q": "train/loss:any"},
    {"q": "es.sigma<0.002"},
    {"q": "es.sigma:0.001 state:failed", "sort": "-accuracy/contains"},
    {"q": "es.population:30", "sort": "-train/entropy.min"},
    {"q": "es.alpha>0.0007", "sort": "-es.alpha"},
    {"q": "es.alpha>0.0007", "sort": "es.alpha"},
    {"q": "es.antithetic:false", "sort": "kl"},
    {"q": "task.name~concise", "sort": "-reward/mean"},
    {"q": "grpo.beta:none", "sort": "-kl"},
    {"q": "state:failed"},
    {"q": "-state:succeeded", "sort": "-time"},
    {"q": "state:running", "sort": "-step"},
    {"q": "method:es preset:es-conciseness-paper"},
    {"q": "seed<100", "sort": "reward/std"},
    {"q": "seed:7,11,13..17", "sort": "-es.sigma"},
    {"q": "step>500", "sort": "step"},
    {"q": "step<200 time>1000"},
    {"q": "time:..600", "sort": "-kl"},
    {"q": "created>1d by:ada"},
    {"q": "name~777"},
    {"q": "777 -name~1", "sort": "kl"},
    {"q": 'name:"es 4242"'},
    {"q": "note~promising", "sort": "-accuracy/contains"},
    {"q": "tag:keep", "sort": "-reward/mean"},
    {"q": "-tag:keep"},
    {"q": "tag:none tag~x"},
    {"q": "archived:yes"},
    {"q": "archived:any state:failed", "sort": "name"},
    {"q": "flag:any"},
    {"q": "flag:empty", "sort": "-reward/mean"},
    {"q": "flag:none", "sort": "-kl"},
    {"sort": "-flags"},
)
# Pages far down a list: the order, and the value and run at which the previous page ended.
DEEP = (
    ("-created", None, 30_000),
    ("created", None, 70_000),
    ("kl", 1.1, 1),
    ("-reward/mean", 0.4, 1),
    ("es.sigma", 0.0025, 50_000),
    ("-model.path", "tiny", 20_000),
    ("name", "es 5", 1),
    ("-seed", 400, 50_000),
    ("-step", 300, 50_000),
    ("time", 2_000.0, 50_000),
    ("state", "succeeded", 50_000),
    ("grpo.beta", None, 40_000),
)
SERIES = """
INSERT INTO runs_series (run_id, key, points, last_step, last_value, min_value, max_value)
SELECT r.id, k.key, 1000, r.last_step, v.low + v.high, v.low, v.low + 2 * v.high
FROM runs_run r CROSS JOIN unnest(%s::text[]) AS k (key)
     CROSS JOIN LATERAL (SELECT random() + 0 * r.id AS low, random() + 0 * r.id AS high) AS v
"""


FLAGS = """
INSERT INTO runs_flag (run_id, detector, step, first_step, value, "limit", compared_with, key, examples, data_hash,
                       is_current, detected_at)
SELECT id, d.detector, last_step, last_step, 0.5, 0.1, '', '', '[]', md5(id::text), true, now()
FROM runs_run CROSS JOIN unnest(ARRAY['accuracy', 'empty']) AS d (detector) WHERE id %% %s = 0
"""
FLAGGED_EVERY = 50


def fill() -> None:
    """Create the runs, each with an attempt; some are archived, some in the trash, some have two open flags."""
    from django.db import connection

    for first in range(0, RUNS, 5_000):
        make_runs(range(first, first + 5_000))
    with connection.cursor() as sql:
        sql.execute(SERIES, [list(KEYS)])
        sql.execute(FLAGS, [FLAGGED_EVERY])
    servers.settle()


def make_runs(numbers: range) -> None:
    """Create runs of these numbers: a grid over noise, step size and population, many seeds at each point."""
    from django.utils import timezone

    from runs.models import Attempt, Cluster, Run
    from workers.config import RunConfig, preset

    experiment, cluster, now = servers.experiment(), Cluster.objects.get(name="local"), timezone.now()
    owner = experiment.owner
    config = RunConfig.from_json(preset("es-conciseness-paper").config).to_json()
    runs = Run.objects.bulk_create(
        Run(
            experiment=experiment, name=f"es {n}", preset="es-conciseness-paper", method="es", seed=n // 100,
            created_by=owner,
            state=state(n), last_step=100 + n * 7919 % 901, tags=["keep"] * (n % 10 == 0),
            note="promising" * (n % 97 == 0), archived_at=now if n % 20 == 3 else None,
            deleted_at=now if n % 25 == 4 else None,
            config=config | {"seed": n // 100, "es": config["es"] | {
                "sigma": 0.0005 * (1 + n % 10), "alpha": 0.0001 * (1 + n // 10 % 10), "population": 10 * (1 + n % 7)}},
        )
        for n in numbers
    )  # fmt: skip
    Attempt.objects.bulk_create(
        Attempt(
            run=run, n=1, key=f"esweb-{run.uid}-a1", cluster=cluster, state=run.state,
            started_at=now - timedelta(seconds=n * 37 % 5_000), ended_at=None if run.is_open else now,
        )
        for n, run in zip(numbers, runs, strict=True)
    )  # fmt: skip


def state(n: int) -> str:
    """Return the state of a run: most have succeeded; some of the newest are running."""
    if n > RUNS - 100:
        return "running"
    return "interrupted" if n % 50 == 0 else "failed" if n % 7 == 0 else "succeeded"


def addresses() -> list[str]:
    """Return the query string of each page."""
    from runs.compare.run_table import PageCursor

    deep = [{"sort": word, "after": str(PageCursor(value, pk))} for word, value, pk in DEEP]
    return [urlencode(query) for query in (*QUERIES, *deep)]


def fetch_pages(web: servers.Web) -> dict[str, list[Page]]:
    """Return query -> the pages, over all rounds, after one that warms up."""
    from django.urls import reverse

    headers, address = servers.browser_headers(), reverse("experiment", args=[servers.experiment().pk])
    pages = defaultdict(list)
    for number in range(ROUNDS + 1):
        for query in addresses():
            page = get(web.port, f"{address}?{query}", headers)
            if number:
                pages[unquote_plus(query) or "(as it opens)"].append(page)
    return pages


def report(pages_by_query: dict[str, list[Page]]) -> None:
    """Print the slowest pages by name, and record the figures of all."""
    middle = {query: percentile([page.seconds for page in pages], 0.5) for query, pages in pages_by_query.items()}
    for query in sorted(middle, key=lambda query: -middle[query])[:6]:
        print(f"  {1000 * middle[query]:6.0f} ms  {query}")
    pages = [page for several in pages_by_query.values() for page in several]
    slow, large = 1000 * percentile([page.seconds for page in pages], 0.95), max(page.size for page in pages) / 1000
    typical = 1000 * percentile([page.seconds for page in pages], 0.5)
    results.at_most("a page of 100 000 runs, p95", slow, GOAL_MS, "ms")
    results.without_goal("a page of 100 000 runs, median", typical, "ms")
    results.at_most("the largest page, gzip", large, GOAL_KB, "kB")


def main() -> int:
    """Measure, print, and return 1 if a goal is missed."""
    with servers.site(), servers.web() as web:
        fill()
        report(fetch_pages(web))
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
