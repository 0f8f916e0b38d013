"""Refusals of models, files and tasks name the command by which an administrator allows them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.launching.create import check_allowed
from runs.models import Cluster
from tests.cases import each_case
from workers.config import ConfigError, RunConfig

pytestmark = pytest.mark.django_db
SET = "./manage.py cluster set local"
NAMED_FOLDER = (
    f"""an administrator allows /srv/lab with {SET} 'data_paths=["/srv/lab"]', and the name is then smollm2"""
)
ANY_FOLDER = (
    f"""cluster local allows none: an administrator sets data_paths, such as {SET} 'data_paths=["/srv/models"]'"""
)


def refusal(person: User, path: str, **sections: dict[str, Any]) -> str:
    """Return the message at this path of a config of method es that a launch refuses."""
    with pytest.raises(ConfigError) as refused:
        check_allowed(RunConfig.from_json({"method": "es", "es": {}, **sections}), person)
    return {problem.path: problem.message for problem in refused.value.problems}[path]


@each_case(
    ("model", "hint"),
    [("/srv/lab/smollm2", NAMED_FOLDER), ("/srv/../etc/model", ANY_FOLDER), ("/srv/a b/model", ANY_FOLDER),
     ("a/b/c", ANY_FOLDER)],
)  # fmt: skip
def test_refused_model_names_the_command_that_allows_its_folder(
    model: str, hint: str, ada: User, local: Cluster
) -> None:
    assert refusal(ada, "model.path", model={"path": model}).endswith(f"not {model!r}; {hint}")


def test_refused_model_keeps_the_folders_that_are_allowed(ada: User, local: Cluster) -> None:
    local.config = {"data_paths": ["/srv/lab"]}
    local.save()
    message = refusal(ada, "model.path", model={"path": "/srv/models/smollm2"})
    assert f'{SET} \'data_paths=["/srv/lab", "/srv/models"]\', and the name is then smollm2' in message
    assert refusal(ada, "model.path", model={"path": "/srv/lab/smollm2"}).endswith("; this one is smollm2")


def test_refused_file_names_the_command(ada: User, local: Cluster) -> None:
    task = {"name": "conciseness", "options": {"train_file": "facts/train.jsonl"}}
    message = refusal(ada, "task.options.train_file", task=task)
    assert message.startswith("names 'facts/train.jsonl', which is not in a folder that an administrator allows; ")
    assert message.endswith(f"{SET} 'data_paths=[\"/srv/models\"]'")


def test_refused_task_names_the_command(ada: User, local: Cluster) -> None:
    task = {"name": "own", "options": {"path": "rhyme:Rhyme"}}
    message = refusal(ada, "task.options.path", task=task)
    assert message.endswith(f"an administrator allows folders of tasks, such as {SET} 'task_paths=[\"/srv/tasks\"]'")
