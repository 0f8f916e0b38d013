"""Texts that users send have a maximum length: fields of forms, of API requests and of configs, new ones included.

A text without a limit is as long as the largest request; it is stored, and every page that shows it reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from django import forms
from django.urls import get_resolver

from esweb.api import api
from runs.clusters.forms import ClusterForm
from runs.clusters.settings import KEYS, config_errors
from runs.experiments.edit import ExperimentEditForm
from runs.http import MAX_NOTE_LENGTH, MAX_TEXT_LENGTH, JsonField
from runs.launching.sweeps.forms import MoreForm, SweepForm
from runs.models import Sweep
from tests.cases import each_case
from workers.config import ConfigError, RunConfig, config_fields
from workers.config.decode import MAX_TEXT_LENGTH as MAX_SETTING_LENGTH
from workers.config.fields import ConfigField

PACKAGES = {"esweb", "judging", "runs"}
LONG = "x" * (MAX_SETTING_LENGTH + 1)
LONG_VALUES: dict[type, Any] = {str: LONG, tuple: [LONG], dict: {"key": LONG}}
UNLIMITED_TEXTS = {
    "application/jsonl": "records are read line by line, each within the limits of runs/ingest/limits.py",
    "header If-Match": "the server limits headers",
    "cap": "a number as text: Decimal reads it in linear time, and it has a maximum",
    "path ": "a path's pattern is a limit of its own",
}
OPEN_OBJECTS = {
    "NewCluster.config": "config_errors: test_cluster_config_has_maximum_length",
    "NewRun.config": "RunConfig", "CloneRun.config": "RunConfig", "RunToPlan.config": "RunConfig",
    "PresetToAdapt.config": "RunConfig", "NewSweep.config": "RunConfig: test_setting_has_maximum_length",
    "NewExternalRun.config": "runs/launching/external/schemas.py", "NewExternalRun.git": "likewise",
    "Heartbeat.config": "likewise", "Heartbeat.summary": "likewise", "End.summary": "likewise",
    "NewService.capabilities": "CAPABILITIES_BYTES",
}  # fmt: skip
"""Objects with keys of the caller's choice, and what limits them."""


def form_classes(base: type[forms.BaseForm] = forms.BaseForm) -> Iterator[type[forms.BaseForm]]:
    """Yield the forms of this project that the routes import."""
    assert get_resolver().url_patterns
    for form in base.__subclasses__():
        if form.__module__.partition(".")[0] in PACKAGES:
            yield form
        yield from form_classes(form)


def texts_without_limit(fields: dict[str, forms.Field]) -> list[str]:
    return [name for name, field in fields.items() if isinstance(field, forms.CharField) and not field.max_length]


def test_form_fields_have_maximum_length() -> None:
    classes = set(form_classes())
    assert len(classes) > 25
    fields = {form.__qualname__: texts_without_limit(getattr(form, "base_fields", {})) for form in classes}
    made = (ClusterForm(), SweepForm(), MoreForm(Sweep(grid={"es.sigma": [1]})), MoreForm(Sweep()))
    fields |= {f"a {type(form).__name__}": texts_without_limit(form.fields) for form in made}
    assert {form: names for form, names in fields.items() if names} == {}


def strings(schema: dict[str, Any], path: str, is_open: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path, schema) of each text within a schema, and add the objects with free keys to `is_open`."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if f"{name}." in path:
            return
        schema, path = api.get_openapi_schema()["components"]["schemas"][name], f"{path} {name}"
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from strings(alternative, path, is_open)
    if schema.get("type") == "string":
        yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from strings(inner, f"{path}.{name}", is_open)
    if "items" in schema:
        yield from strings(schema["items"], path, is_open)
    if schema.get("additionalProperties") is True:
        is_open.append(path)
    elif schema.get("additionalProperties"):
        yield from strings(schema["additionalProperties"], path, is_open)


def is_limited(schema: dict[str, Any]) -> bool:
    """Return whether the schema states a maximum length, also by its pattern or its choices."""
    if {"maxLength", "enum", "const", "format"} & schema.keys():
        return True
    return "pattern" in schema and _parser.parse(schema["pattern"]).getwidth()[1] <= MAX_TEXT_LENGTH


def request_schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (its place, its schema) of each parameter and each body that an operation reads."""
    for path, methods in api.get_openapi_schema()["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                yield f"{method} {path} {parameter['in']} {parameter['name']}", parameter["schema"]
            for kind, body in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{method} {path} {kind}", body["schema"]


def test_api_texts_have_maximum_length() -> None:
    open_objects: list[str] = []
    texts = [text for place, schema in request_schemas() for text in strings(schema, place, open_objects)]
    assert len(texts) > 150
    unlimited = [path for path, schema in texts if not is_limited(schema)]
    assert [path for path in unlimited if not path.endswith((*UNLIMITED_TEXTS, ".cap"))] == []
    names = {path.rpartition(" ")[2] for path in open_objects if not path.endswith(("json.values", "json.axes"))}
    assert names - OPEN_OBJECTS.keys() == set()


def text_settings() -> list[ConfigField]:
    """Return the settings of a run that hold text, alone or in a list or an object."""
    texts = [setting for setting in config_fields(RunConfig) if setting.kind in LONG_VALUES and not setting.choices]
    # Its items are sections, whose settings are those of the section task.
    return [setting for setting in texts if setting.path != "evaluate.prior_tasks"]


@each_case("setting", text_settings(), ids=lambda setting: f"{setting.path} {setting.tag}")
def test_setting_has_maximum_length(setting: ConfigField) -> None:
    config: dict[str, Any] = {"method": "es"}
    target = config
    *sections, name = setting.path.split(".")
    for section in sections:
        target = target.setdefault(section, {"name": setting.tag} if section == "task" and setting.tag else {})
    target[name] = LONG_VALUES[setting.kind]
    with pytest.raises(ConfigError) as refusal:
        RunConfig.from_json(config)
    (message,) = [problem.message for problem in refusal.value.problems if problem.path == setting.path]
    assert message.startswith("must have at most 100000 characters; it has 1")


def test_config_with_many_unknown_keys_has_short_error() -> None:
    with pytest.raises(ConfigError, match="key19: is not a known key") as refusal:
        RunConfig.from_json({"method": "es", **{f"key{number}": 0 for number in range(100_000)}})
    assert "99980 more unknown keys" in str(refusal.value) and len(str(refusal.value)) < 10_000


def test_cluster_config_has_maximum_length() -> None:
    for kind, keys in KEYS.items():
        for key in keys:
            assert "must have at most 100000 characters" in " ".join(config_errors({key: {"A": LONG}}, kind))


def test_long_text_is_refused_with_its_length() -> None:
    data = {"name": "a", "question": "q" * MAX_TEXT_LENGTH, "note": "n" * MAX_NOTE_LENGTH, "tags": "t"}
    assert ExperimentEditForm(data).is_valid()
    errors = ExperimentEditForm({key: f"{value}x" for key, value in data.items()} | {"tags": "t," * 9000}).errors
    assert "at most 10000 characters (it has 10001)" in errors["question"][0]
    assert "at most 100000 characters (it has 100001)" in errors["note"][0]
    assert "at most 10000 characters (it has 18000)" in errors["tags"][0]


def test_json_field_limits_its_text_and_not_its_keys() -> None:
    field = JsonField(max_length=30)
    assert field.clean('{"a": 1, "b": 2}') == {"a": 1, "b": 2} and field.widget.attrs["maxlength"] == "30"
    with pytest.raises(forms.ValidationError, match="at most 30 characters"):
        field.clean('{"a": "' + "x" * 30 + '"}')
