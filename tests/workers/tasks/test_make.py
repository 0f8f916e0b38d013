"""A config's task by its name."""

from __future__ import annotations

from workers.config import TaskConfig
from workers.config.run import TASKS as OPTIONS
from workers.tasks import TASKS, make


def test_every_task_that_a_config_can_name_is_there() -> None:
    assert TASKS.keys() == OPTIONS.keys()
    for name, options in OPTIONS.items():
        task = make(TaskConfig(name, options()))
        assert task.name == name
        assert task.examples("train") and task.examples("eval")
