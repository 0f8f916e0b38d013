"""A config's task by its name."""

from __future__ import annotations

from workers.config import TaskConfig, config_fields
from workers.config.tasks import TASKS as OPTIONS
from workers.tasks import TASKS, make


def test_every_task_that_a_config_can_name_is_there() -> None:
    names = next(k.choices for k in config_fields(TaskConfig) if k.path == "name")
    assert set(names) == OPTIONS.keys() == TASKS.keys() | {"own"}
    for name in TASKS:
        task = make(TaskConfig(name, OPTIONS[name]()))
        assert task.name == name
        assert task.examples("train") and task.examples("eval")
