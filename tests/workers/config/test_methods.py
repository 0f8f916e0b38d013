"""The methods of runs, and the other places that depend on their list."""

from __future__ import annotations

import dataclasses

import pytest

from esweb_client.settings import SERVER_METHODS
from workers.config import ConfigError, RunConfig, config_fields
from workers.config.methods import METHODS, alternatives, short_title


def test_config_has_a_section_for_each_method() -> None:
    optional = [field.name for field in dataclasses.fields(RunConfig) if field.default is None]
    assert optional == list(METHODS)
    assert next(field.choices for field in config_fields(RunConfig) if field.path == "method") == tuple(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_config_omits_the_section_of_a_method_only_if_it_is_optional(method: str) -> None:
    if METHODS[method].is_section_optional:
        assert RunConfig.from_json({"method": method}) == RunConfig.from_json({"method": method, method: {}})
    else:
        with pytest.raises(ConfigError, match=f"{method}: is missing: method {method} needs this section"):
            RunConfig.from_json({"method": method})


@pytest.mark.parametrize("method", METHODS)
def test_config_names_only_sections_that_exist_as_unread(method: str) -> None:
    names = {field.name for field in dataclasses.fields(RunConfig)}
    assert set(METHODS[method].unread_sections) <= names - METHODS.keys()


def test_client_refuses_the_methods_without_training() -> None:
    assert tuple(name for name, method in METHODS.items() if not method.is_training) == SERVER_METHODS


def test_short_title_of_an_unknown_method_is_its_name() -> None:
    assert [short_title(name) for name in ("es", "grpo", "probe", "ppo", "")] == ["ES", "GRPO", "probe", "ppo", ""]


def test_alternatives_join_names_as_a_choice() -> None:
    assert [alternatives(names) for names in (["es"], ["es", "grpo"], ["es", "grpo", "merge"])] == [
        "es", "es or grpo", "es, grpo or merge",
    ]  # fmt: skip
