"""The catalogue of metrics: what pages know of a key."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from runs.charts import CHARTS, chart_slug, expected_keys
from runs.compare.final_results import OUTCOMES
from runs.compare.run_table import Vocabulary
from runs.launching.sweeps.options import COMMON_METRICS
from runs.metrics import HIGHER, LOWER, good_direction, headline_metrics, provenance
from runs.metrics.catalogue import METRICS, metric_of
from runs.metrics.headline import headline_of_run, resolve_fallbacks
from runs.metrics.metric_charts import SHARE
from runs.models import Run
from runs.run_page.charts.sections import LAST_SECTIONS, SECTIONS, plans
from tests.cases import each_case
from workers.analysis.keys import ACCURACY, COST, EXACT, KL, PASS, PREFERS_RIGHT, REWARD, RIGHT, SAFE
from workers.analysis.right.validity import validity
from workers.config import tasks

ROOT = Path(__file__).parents[3]
TASKS = ("conciseness", "countdown", "math", "choice", "safety", "own")
DIRECTIONS = {
    "reward/mean": HIGHER, "train/reward/max": HIGHER, "reward/format/mean": HIGHER, "accuracy/contains": HIGHER,
    "sample/accuracy/exact": HIGHER, "safety/safe_ratio": HIGHER, "rewards/length": HIGHER, "kl": LOWER, "kl/k3": LOWER,
    "train/kl": LOWER, "cost/mean": LOWER, "eval/loss": LOWER, "es/dead": LOWER, "response/clipped_ratio": LOWER,
    "reward/std": None, "cost/std": None, "eval/n": None, "lambda": None, "response/tokens_mean": None,
    "train/es/dead": LOWER, "prior/math/reward/mean": HIGHER, "sample/safety/safe_ratio/low": HIGHER, "kl/se": None,
    "es/update_norm": None, "pass@1": None, "klondike": None, "rewarding/mean": None, "": None,
}  # fmt: skip
ON_A_RUNS_PAGE = {
    "reward/mean": ("held-out", "reward", "Reward", "reward"),
    "sample/reward/mean": ("held-out", "reward", "Reward", "reward"),
    "accuracy/right": ("held-out", "accuracy", "Accuracy", "share of responses"),
    "accuracy/exact": ("held-out", "expected-answer", "Expected answer in the response", "share of responses"),
    "kl": ("held-out", "kl", "KL from the base model", "nats per token"),
    "response/empty_ratio": ("held-out", "degenerate", "Empty and clipped responses", "share of responses"),
    "safety/safe_ratio": ("parts", "safety-safe_ratio", "Safe ratio", "share of responses"),
    "cost/mean": ("parts", "cost-mean", "Cost", "cost"),
    "reward/format/mean": ("parts", "reward-format-mean", "reward/format/mean", ""),
    "lambda": ("parts", "lambda", "lambda", ""),
    "pass@1/low": ("passes", "pass-1", "pass@1", "share of responses"),
    "pass@4": ("passes", "pass4-779f5f", "pass@4", "share of responses"),
    "entropy": ("passes", "entropy", "entropy", ""),
    "train/kl/k1": ("training", "train-kl", "KL from the reference model", "nats per token"),
    "es/dead": ("training", "es-dead", "Dead iterations", ""),
    "loss": ("training", "loss", "loss", ""),
    "time/decode_seconds": ("phases", "time-phases", "Seconds by phase", "engine-seconds"),
    "time/step_seconds": ("time", "time-step_seconds", "Seconds per step", ""),
    "eval/n": ("of-eval", "eval-n", "Number averaged over", ""),
    "prior/math/pass@1": ("prior-math-details", "prior-math-pass1-06d8f8", "prior/math/pass@1", "share of responses"),
    "train/completions/length": ("training-details", "train-completions-length", "completions/length", ""),
    "reward/std": ("details", "reward-std", "reward/std", ""),
    "accuracy/greedy": ("details", "accuracy-greedy", "accuracy/greedy", "share of responses"),
    "system/gpu0/busy": ("system", "system-gpu-busy", "GPU in use", "share of time"),
    "system/disk_gb": ("system", "system-disk_gb", "system/disk_gb", ""),
}
"""Key -> section, slug, title and unit of its chart."""
COLUMNS = {
    "reward": ("Reward", False), "right": ("Accuracy", True), "accuracy": ("Answer contained", True),
    "kl": ("KL", False), COST: ("Cost", False),
    SAFE: ("Safe ratio", True), f"{RIGHT}.best": ("Accuracy best", True), f"{SAFE}@5": ("Safe ratio @ 5", True),
    "accuracy/exact": ("accuracy/exact", True), "pass@4": ("pass@4", True), "es/dead": ("es/dead", False),
}  # fmt: skip
"""Key or alias of a column -> its title, and whether its values are shares."""
NAMED_IN = {
    "workers/analysis/keys.py": "the evaluator's keys",
    "workers/config/tasks.py": "the headline of tasks",
    "runs/metrics/catalogue.py": "the catalogue",
    "runs/kinds/evaluation.py": "the headline of evaluations",
    "runs/importing/readers/final_results.py": "the vocabulary of a format",
    "runs/importing/readers/scored_responses.py": "the vocabulary of a format",
}
"""Production files that write the key of a headline metric -> why."""


@each_case("key", DIRECTIONS)
def test_direction_follows_from_the_key(key: str) -> None:
    assert good_direction(key) == DIRECTIONS[key]


@each_case("key", ON_A_RUNS_PAGE)
def test_chart_of_a_key_has_its_section_title_and_unit(key: str) -> None:
    ((plan, spec),) = ((plan, spec) for plan in plans([key]) for spec in plan.specs)
    assert (plan.slug, spec.waiting().slug, spec.title, spec.unit) == ON_A_RUNS_PAGE[key]
    assert chart_slug(key) == spec.waiting().slug
    assert spec.is_share == metric_of(key).is_share


@each_case("key", COLUMNS)
def test_column_of_a_metric_has_its_title_and_format(key: str) -> None:
    column = Vocabulary(("accuracy/exact", "pass@4", "es/dead")).column(key)
    assert column is not None and (column.title, column.is_share) == COLUMNS[key]


@each_case("task", TASKS)
def test_headline_of_a_task_starts_with_the_reward(task: str) -> None:
    own = [SAFE, COST] if task == "safety" else [RIGHT, ACCURACY]
    keys = [REWARD, RIGHT, ACCURACY, KL, SAFE, COST] if task == "own" else [REWARD, *own, KL]
    assert [metric.key for metric in headline_metrics(task) if metric.key in (*keys, SAFE, COST)] == keys
    config = {"task": {"name": task}}
    evaluation = cast(Run, SimpleNamespace(method="evaluate", config=config))
    assert [metric.key for metric in headline_of_run(evaluation)][-1] == PASS
    expected = {REWARD, KL} if task == "own" else {*keys} - {ACCURACY}
    assert expected <= expected_keys(cast(Run, SimpleNamespace(config=config)))


def test_help_of_accuracies_states_their_validity() -> None:
    right = validity("right")
    helps = {key: metric_of(key).spoken().help for key in (RIGHT, ACCURACY, EXACT)}
    assert f"{right.sensitivity} of the right ones" in helps[RIGHT]
    assert f"{right.specificity} of the wrong ones" in helps[RIGHT]
    assert str(validity("contains", length="> 60").specificity) in helps[ACCURACY]
    assert str(validity("exact").sensitivity) in helps[EXACT]
    assert not any("%(" in text or "%%" in text for text in helps.values())


def test_likelihoods_are_measured_on_no_response() -> None:
    way = provenance({"evaluation": {"samples": 4}}, PREFERS_RIGHT, "evaluator")
    assert way is not None and (way.estimator, way.words) == ("mean", "without responses")


def test_contained_answers_stand_in_for_right_ones_of_runs_without_them() -> None:
    assert resolve_fallbacks([REWARD, ACCURACY], [REWARD, ACCURACY]) == [REWARD, ACCURACY]
    assert resolve_fallbacks([REWARD, RIGHT, ACCURACY], [RIGHT, ACCURACY]) == [REWARD, RIGHT]


def test_headline_metrics_keep_their_order_on_each_page() -> None:
    assert [name for name in CHARTS if name in ("reward", "right", "accuracy", KL, SAFE, COST)] == [
        "reward", KL, "right", "accuracy", SAFE, COST,
    ]  # fmt: skip
    assert [key for key in COMMON_METRICS if key in (REWARD, RIGHT, ACCURACY, EXACT, KL, SAFE, COST)] == [
        REWARD, RIGHT, ACCURACY, EXACT, KL, SAFE, COST,
    ]  # fmt: skip
    meanings = {outcome.key: (outcome.heading, outcome.higher_is) for outcome in OUTCOMES}
    assert meanings | {
        REWARD: ("Held-out reward", "better"), RIGHT: ("Accuracy", "better"), SAFE: ("Safe ratio", "better"),
        KL: ("KL, nats per token", "farther from the base model"), COST: ("Cost", "more harmful"),
        "seconds": ("Seconds", "slower"),
    } == meanings  # fmt: skip


def test_rows_name_sections_and_tasks_that_exist() -> None:
    sections = {"", *(slug for slug, _title, _help in (*SECTIONS, *LAST_SECTIONS))}
    for metric in METRICS:
        assert metric.section in sections and {*metric.headline} <= {"*", *tasks.TASKS}, metric.key
        assert metric.is_share == metric.unit.startswith(SHARE), metric.key


@each_case("key", ("sample/safety/safe_ratio", "prior/safety/safety/safe_ratio", "safety/safe_ratio/low"))
def test_keys_around_a_share_are_shares(key: str) -> None:
    assert metric_of(key).is_share and metric_of(key).unit == metric_of(SAFE).unit


def test_keys_of_headline_metrics_are_written_once() -> None:
    quoted = [f'"{key}"' for key in (RIGHT, SAFE, COST, PASS)]
    files = (
        path for folder in ("client", "esweb", "judging", "runs", "static/js", "templates", "workers")
        for suffix in ("py", "js", "html") for path in (ROOT / folder).rglob(f"*.{suffix}")
    )  # fmt: skip
    naming = {
        str(path.relative_to(ROOT)) for path in files
        if "/migrations/" not in str(path) and any(key in path.read_text(encoding="utf-8") for key in quoted)
    }  # fmt: skip
    assert naming == set(NAMED_IN)
