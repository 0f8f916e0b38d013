"""The published conciseness runs, imported by one command: every value equals the text's, and every mean agrees."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from runs import metrics
from runs.models import Experiment, Response, Run
from workers.executors.states import State

FOLDERS = [parent / "shared" / "data" / "conciseness" for parent in Path(__file__).parents[3:5]]
FOLDER = next((folder for folder in FOLDERS if folder.is_dir()), None)
pytestmark = pytest.mark.skipif(FOLDER is None, reason="the published runs are not here")
ITERATION = re.compile(r"^Iteration (\d+)/\d+, Time: (\S+)s, Mean: (\S+), Min: (\S+), Max: (\S+), Std: (\S+)$", re.M)
EDGES = r"(?<![a-z0-9])%s(?![a-z0-9]|[.,]\d)"
COLUMNS = ("time/step_seconds", "train/reward/mean", "train/reward/min", "train/reward/max", "train/reward/std")


ONE_OF_EACH_KIND = ("es_logs/*/*_54735579_0.log", "grpo_logs/*/*_54764136_0.log", "grpo_logs/beta0.1", "*_evals")


def import_folder(*parts: str, experiment: str = "") -> dict:
    """Import the whole folder, or the parts of it that these patterns name, and return the command's output."""
    assert FOLDER is not None
    out = StringIO()
    paths = [str(path) for part in parts for path in sorted(FOLDER.glob(part))] or [str(FOLDER)]
    call_command("import", *paths, "--json", *(["--experiment", experiment] if experiment else []), stdout=out)
    return json.loads(out.getvalue())


def run_names_by_file(output: dict) -> dict[str, list[str]]:
    """Return the names of the new runs by the path of their file within the whole folder."""
    return {
        file["name"].removeprefix("conciseness/"): [run["name"] for run in file["made"]] for file in output["files"]
    }


def curves_of(run: Run, keys: tuple[str, ...]) -> list[np.ndarray]:
    return [curve.y for curve in metrics.read([run], keys)]


@pytest.fixture
def output(ada, runs_dir) -> dict:
    return import_folder()


def test_the_whole_folder_imports_in_one_command_and_twice_makes_nothing_twice(output):
    kinds = [kind for file in output["files"] for kind in file["kinds"]]
    counts = {kind: kinds.count(kind) for kind in kinds}
    assert counts == {"ES log": 12, "TRL log": 4, "log of a job that failed": 1, "evaluation": 5, "report": 2}
    assert (output["made_experiment"], output["experiment"]["name"]) == (True, "conciseness")
    assert Run.objects.count() == 12 + 4 + 1 + 5 * 4 + 3
    assert not any(file["not_understood"] for file in output["files"])
    before = list(Run.objects.order_by("pk").values())

    again = import_folder(*ONE_OF_EACH_KIND)
    assert {kind for file in again["files"] for kind in file["kinds"]} == counts.keys()
    assert not any(file["made"] or file["went_on"] for file in again["files"])
    assert again["said"].startswith("0 new runs; 26 runs already imported")
    assert list(Run.objects.order_by("pk").values()) == before
    assert Experiment.objects.count() == 1

    elsewhere = import_folder("grpo_evals", experiment="A copy")
    evaluated = {name: runs for name, runs in run_names_by_file(output).items() if name.startswith("grpo_evals/")}
    assert run_names_by_file(elsewhere) == evaluated and len(evaluated) == 3
    check_es_logs()
    check_grpo_logs()
    check_evaluations(output)
    check_the_failed_job()


def check_es_logs() -> None:
    assert FOLDER is not None
    for path in sorted(FOLDER.glob("es_logs/*/*.log")):
        run = Run.objects.get(source__name__endswith=path.name, experiment__name="conciseness")
        rows = ITERATION.findall(path.read_text(encoding="utf-8"))
        assert len(rows) == 1000
        printed = np.array([[float(value) for value in row[1:]] for row in rows]).T
        for curve, column in zip(curves_of(run, COLUMNS), printed, strict=True):
            np.testing.assert_array_equal(curve, column)
        assert (run.method, run.state, run.config["es"]["population"]) == ("es", State.SUCCEEDED, 30)
        assert Response.objects.filter(run=run, split="eval").count() == 160
    recipes = Run.objects.filter(source__kind="ES log", experiment__name="conciseness").values("recipe").distinct()
    assert recipes.count() == 3
    assert {*Run.objects.filter(source__kind="ES log").values_list("seed", flat=True)} == {0, 1, 2, 3}


def check_grpo_logs() -> None:
    assert FOLDER is not None
    for path in sorted(FOLDER.glob("grpo_logs/beta0.0464/*.log")):
        run = Run.objects.get(source__name__endswith=path.name, experiment__name="conciseness")
        text = path.read_bytes().decode()
        for key, name in (("train/loss", "'loss'"), ("train/kl", "'kl'"), ("reward/mean", "'eval_reward'")):
            printed = [float(value) for value in re.findall(rf"{name}: ([^,}}]+)", text)]
            (curve,) = metrics.read([run], [key])
            np.testing.assert_array_equal(curve.y, printed)
            steps = np.arange(50, 1001, 50) if key == "reward/mean" else np.arange(5, 1001, 5)
            np.testing.assert_array_equal(curve.x, steps)
        assert (run.method, run.state, run.config["grpo"]["beta"]) == ("grpo", State.SUCCEEDED, 0.0464)


def check_evaluations(output: dict) -> None:
    assert FOLDER is not None
    rows = [row for path in FOLDER.glob("*_evals/report.json") for row in json.loads(path.read_text())]
    checked = 0
    for row in rows:
        method = "grpo" if "beta" in row else "es"
        knobs = {name: row[name] for name in ("alpha", "sigma", "beta") if name in row}
        candidates = Run.objects.filter(experiment__name="conciseness", config__contains={method: knobs})
        runs, aggregate = (
            list(candidates.filter(source__kind="evaluation")),
            candidates.filter(source__kind="report").first(),
        )
        assert (aggregate is None) == bool(runs)
        if aggregate is None:
            checked += 1
            numbers = metrics.latest(runs).values()
            for key, name in (("reward/mean", "aggregate_reward"), ("eval/reward/normalized/mean",
                              "aggregate_normalized_reward")):  # fmt: skip
                values = np.array([run_numbers[key] for run_numbers in numbers])
                assert f"{values.mean():.12g}" == f"{row[f'{name}_mean']:.12g}"
                assert f"{values.std():.12g}" == f"{row[f'{name}_std']:.12g}"
            kl = np.array([run_numbers["kl"] for run_numbers in numbers])
            assert f"{kl.mean():.12g} {kl.std():.12g}" == f"{row['mean_kl']:.12g} {row['std_kl']:.12g}"
            assert all(Response.objects.filter(run=run).count() == 160 for run in runs)
        else:
            (numbers,) = metrics.latest([aggregate]).values()
            assert (numbers["eval/reward_mean"], numbers["eval/kl_std"]) == (
                row["aggregate_reward_mean"],
                row["std_kl"],
            )
            assert (aggregate.tags, aggregate.seed) == (["aggregate"], -1)
    assert checked == 5
    check_curves_of_answers()
    facts = [fact for file in output["files"] for fact in file["facts"] if "agrees with the 4 imported seeds" in fact]
    assert len(facts) == 5
    check_hacked_seeds(output, rows)
    check_joined_evaluations(output)


def check_hacked_seeds(output: dict, rows: list[dict]) -> None:
    """Compare the number of hacked seeds that each report states, and ours next to it, with the files."""
    facts = {fact for file in output["files"] for fact in file["facts"] if "num_seeds_hacked_reward" in fact}
    for row in rows:
        names = [name for name in ("alpha", "sigma", "beta") if name in row]
        path = next(iter(FOLDER.glob(f"*_evals/*{'_'.join(f'{name}{row[name]}' for name in names)}.json")), None)
        if path is None:
            continue
        seeds = json.loads(path.read_text())["seed_results"].values()
        empty = [
            all(not c["completion"].strip() for question in seed["completions"] for c in question["completions"])
            for seed in seeds
        ]
        setting = ", ".join(f"{name}={row[name]:g}" for name in names)
        facts.remove(
            f"{setting}: num_seeds_hacked_reward is {row['num_seeds_hacked_reward']}; "
            f"of the 4 imported seeds, {sum(empty)} gave only empty responses"
        )
    assert facts == set()


def check_joined_evaluations(output: dict) -> None:
    """Check that each evaluated seed names the training of the same hyperparameters and seed, if its log is here."""
    assert FOLDER is not None
    logs = {
        (run.method, run.seed, json.dumps({k: run.config[run.method].get(k) for k in ("alpha", "sigma", "beta")})): run
        for run in Run.objects.filter(source__kind__in=("ES log", "TRL log"), experiment__name="conciseness")
    }
    joined = 0
    for run in Run.objects.filter(source__kind="evaluation", experiment__name="conciseness").select_related("parent"):
        key = json.dumps({k: run.config[run.method].get(k) for k in ("alpha", "sigma", "beta")})
        assert run.parent == logs.get((run.method, run.seed, key)), run.name
        joined += run.parent is not None
    assert len(output["joined"]) == joined
    assert joined >= 8


def check_curves_of_answers() -> None:
    """Compare each evaluated seed's curves with those of a few lines of plain Python over the same file."""
    assert FOLDER is not None
    seeds = 0
    for path in sorted(FOLDER.glob("*_evals/[at]*.json")):
        for seed, result in json.loads(path.read_text())["seed_results"].items():
            pairs = [(question["target_answer"].strip(), c["completion"].strip()) for question in result["completions"]
                     for c in question["completions"]]  # fmt: skip
            right = [re.search(EDGES % re.escape(target), text, re.IGNORECASE) is not None for target, text in pairs]
            letters = [re.findall(r"[^\W\d_]", text) for _, text in pairs]
            judged = [
                text_letters for text_letters in letters if len(text_letters) > 1 or "".join(text_letters) > "\u4e00"
            ]
            expected = {
                "accuracy/contains": sum(right) / len(pairs),
                "accuracy/exact": sum(target.casefold() == text.casefold() for target, text in pairs) / len(pairs),
                "response/empty_ratio": sum(text == "" for _, text in pairs) / len(pairs),
                "response/characters_mean": sum(len(text) for _, text in pairs) / len(pairs),
                "response/tokens_mean": result["answer_tokens"]["mean_per_sample"],
                "eval/n": float(len(pairs)),
                "response/other_language_ratio": sum(map(is_chinese, judged)) / len(judged) if judged else None,
            }
            run = Run.objects.get(source__name__endswith=path.name, seed=int(seed), experiment__name="conciseness")
            (numbers,) = metrics.latest([run]).values()
            assert {key: numbers.get(key) for key in expected} == expected, (path.name, seed)
            assert numbers["accuracy/exact"] <= numbers["accuracy/right"] <= 1
            seeds += 1
    assert seeds == 20


def is_chinese(letters: list[str]) -> bool:
    """Return whether 30 % of a text is Chinese. A Chinese letter counts as three others."""
    chinese = 3 * sum("\u4e00" <= letter <= "\u9fff" for letter in letters)
    others = sum(not "\u4e00" <= letter <= "\u9fff" for letter in letters)
    return chinese >= 0.3 * (chinese + others)


def check_the_failed_job() -> None:
    run = Run.objects.get(source__kind="log of a job that failed", experiment__name="conciseness")
    attempt = run.attempts.get()
    assert (run.state, run.method, run.config["grpo"]) == (State.FAILED, "grpo", {"beta": 0.1})
    assert attempt.reason.startswith(
        "A command was called with wrong arguments: mamba: error: argument COMMAND: invalid choice"
    )
    assert attempt.reason.endswith("(line 2 of its log)")
