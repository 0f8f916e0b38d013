"""Settings of clusters: one dataclass each, from which the reference, the checks and the executors are made."""

from __future__ import annotations

from pathlib import Path

from runs.clusters.settings import KEYS, SlurmSite, config_errors, site_of
from runs.clusters.settings.reference import reference
from runs.models import Cluster

PAGE = Path(__file__).parents[3] / "docs" / "clusters.md"


def test_reference_equals_the_settings() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: make config-reference"
    assert all(f"| `{key}` | " in reference() for keys in KEYS.values() for key in keys)


def test_site_has_the_config_and_defaults() -> None:
    config = {"partition": "gpu", "modules": ["gcc"], "limits": {"gpus": 4}, "key_of_another_version": 1}
    site: SlurmSite = site_of(Cluster(name="alps", kind="slurm", config=config))
    assert (site.partition, site.modules, site.limits, site.task_paths) == ("gpu", ["gcc"], {"gpus": 4}, ())


def test_each_error_is_reported_in_the_order_of_the_keys() -> None:
    errors = list(config_errors({"limits": 3, "waits": 3, "qos": 3, "nope": 1}, "slurm"))
    assert [error.split()[0] for error in errors] == ["'nope'", "qos", "waits", "limits"]
