"""A task, as docs/guides/add-a-task.md adds it: its code is that of the guide."""

import re
from pathlib import Path

from benchmarks.change_cost.recipe import Create, Edit, Recipe
from tests.guides.blocks import read_blocks

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "add-a-task.md"
OPTIONS, TASK, PRESET = (re.sub(r"\A# .*\n", "", block.text) for block in read_blocks(GUIDE))
TEST = '''"""The reward of rhymes, and a training on it."""

from pathlib import Path

from tests.cases import each_case
from tests.workers.training_process import metrics, run_json, train
from workers.config.tasks import RhymeOptions
from workers.tasks.base import Example
from workers.tasks.rhyme import Rhyme

CAT = Example("0" * 12, (), "cat")


@each_case(
    ("response", "reward", "parts"),
    [
        ("hat", 1.0, (1, 1)), ("It is a HAT.", 1.0, (1, 0)), ("cut", 0.5, (0, 0)), ("t", 0.5, (0, 0)),
        ("cat", 0.0, (0, 0)), ("", 0.0, (0, 0)), ("!?", 0.0, (0, 0)), ("hat " * 9 + "dog", 0.0, (0, 0)),
    ],
)
def test_rhyme_rewards_the_last_letters(response: str, reward: float, parts: tuple[int, int]) -> None:
    score = Rhyme(RhymeOptions()).score(CAT, response)
    assert (score.reward, score.parts["right"], score.parts["exact"]) == (reward, *parts)


def test_rhyme_holds_out_words() -> None:
    train, held_out = (
        {example.target for example in Rhyme(RhymeOptions()).examples(split)} for split in ("train", "eval")
    )
    assert len(held_out) >= 32 and not train & held_out


def test_training_measures_the_accuracy_of_rhymes(tmp_path: Path) -> None:
    done = train(run_json(tmp_path, "es-rhyme-micro"), out := tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert [metric.step for metric in metrics(out, "accuracy/right")] == [0, 2, 4]
'''
PAGES_TEST = '''"""Rhymes in the config, on the launch form, and on the page of a run."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Experiment
from tests.runs.full_runs import make_run, record
from workers.config import ConfigError, RunConfig
from workers.records import Metric

pytestmark = pytest.mark.django_db


def test_config_has_the_options_of_rhymes() -> None:
    config = {"method": "es", "es": {}, "task": {"name": "rhyme", "options": {"letters": 3}}}
    assert RunConfig.from_json(config).to_json()["task"]["options"]["letters"] == 3
    with pytest.raises(ConfigError, match="task.options.letters: must be at least 1 and at most 5, not 9"):
        RunConfig.from_json({**config, "task": {"name": "rhyme", "options": {"letters": 9}}})


def test_form_shows_the_essential_option_of_rhymes(ada_client: Client, experiment: Experiment) -> None:
    page = ada_client.get(reverse("launch", args=[experiment.pk]), {"preset": "es-rhyme-micro"}).content.decode()
    part = page[page.index('id="part-task"') : page.index('id="part-es"')]
    shown, folded = part.split("<details")
    assert 'name="task.rhyme.letters"' in shown and 'name="task.rhyme.question"' in folded
    options = re.findall(r'data-tasks="(\\w+)"\\s+(hidden)?', page)
    assert {task for task, hidden in options if not hidden} == {"rhyme"}


def test_run_on_rhymes_has_the_tiles_of_its_task(ada_client: Client, experiment: Experiment, runs_dir: Path) -> None:
    run = make_run(experiment, "es-rhyme-micro")
    record(run, [Metric(0, {"reward/mean": 0.5, "accuracy/right": 0.25, "safety/safe_ratio": 1.0, "kl": 0.0})])
    page = ada_client.get(run.get_absolute_url()).content.decode()
    assert "<dt>Accuracy</dt>" in page and "<dt>Safe ratio</dt>" not in page
'''

RECIPE = Recipe(
    title="a task",
    name="rhyme",
    before="8",
    goal=3,
    steps=(
        Edit(
            "workers/config/tasks.py",
            "@dataclass(frozen=True)\nclass OwnOptions(TaskOptions):",
            f"{OPTIONS}\n\n@dataclass(frozen=True)\nclass OwnOptions(TaskOptions):",
        ),
        Edit(
            "workers/config/tasks.py",
            '    "safety": SafetyOptions,\n',
            '    "safety": SafetyOptions,\n    "rhyme": RhymeOptions,\n',
        ),
        Edit(
            "workers/tasks/__init__.py",
            "from workers.tasks.safety import Safety\n",
            "from workers.tasks.rhyme import Rhyme\nfrom workers.tasks.safety import Safety\n",
        ),
        Edit("workers/tasks/__init__.py", '    "safety": Safety,\n', '    "safety": Safety,\n    "rhyme": Rhyme,\n'),
        Create("workers/tasks/rhyme.py", TASK),
        Create("workers/config/presets/es-rhyme-micro.json", PRESET),
        Create("tests/workers/tasks/test_rhyme.py", TEST),
        Create("tests/runs/launching/test_rhyme_pages.py", PAGES_TEST),
    ),
    tests=(
        "tests/workers/tasks/test_rhyme.py",
        "tests/runs/launching/test_rhyme_pages.py",
        "tests/workers/tasks/test_make.py",
        "tests/workers/config/test_presets.py",
        "tests/workers/config/test_reference.py",
        "tests/runs/launching/test_launch_page.py::test_page_shows_the_options_of_the_selected_task_alone",
    ),
    regenerate=(
        ("sh", "-c", ".venv/bin/python -m workers.config > docs/config.md"),
        ("sh", "-c", ".venv/bin/python -m runs.translation > runs/translation/marked.py"),
    ),
)
