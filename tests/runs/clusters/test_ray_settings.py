"""Settings of a Ray cluster for runs on several nodes."""

from __future__ import annotations

from typing import Any

from runs.clusters.settings import config_errors
from tests.cases import each_case

RAY = {"dashboard": "http://127.0.0.1:8265"}


@each_case(
    ("setting", "message"),
    [
        ({"autoscales": "yes"}, "autoscales must be true or false, not 'yes'"),
        ({"autoscales": 1}, "autoscales must be true or false, not 1"),
        ({"ray_python": "bin/python"}, "ray_python must be an absolute path without .., not 'bin/python'"),
    ],
)
def test_invalid_setting_is_reported(setting: dict[str, Any], message: str) -> None:
    assert list(config_errors({**RAY, **setting}, "ray")) == [message]


def test_valid_settings_are_accepted() -> None:
    assert list(config_errors({**RAY, "autoscales": True, "ray_python": "/opt/ray/bin/python"}, "ray")) == []
