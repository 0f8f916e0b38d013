"""The settings of a run that differ from their defaults, as its overview lists them."""

import pytest

from runs.models import Run
from runs.run_page.config import changed_settings
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment) -> Run:
    return make_run(experiment, name="grpo-micro", seed=3)


def test_sections_that_are_left_out_are_no_settings(run):
    assert run.config["grpo"]["lora"] is None and run.config["grpo"]["vllm"] is None
    changed = {path: entry.value for path, entry in changed_settings(run)}
    assert changed["seed"] == "3"
    assert "null" not in changed.values()


def test_unknown_setting_is_listed(run):
    run.config["future"] = {"setting": 1, "none": None}
    assert [path for path, _ in changed_settings(run) if path.startswith("future")] == ["future.setting"]
