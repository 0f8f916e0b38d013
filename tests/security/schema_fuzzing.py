"""Requests to the API that schemathesis generates from its OpenAPI document: valid and invalid ones.

In `make test` each operation gets the same few requests every time; `make soak PART=fuzz` continues with others.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.generation.feedback import NO_FEEDBACK

from esweb.api import api
from tests import soak_plugin
from tests.security.request_bodies import configs, jsonl
from tests.security.sample_rows import SampleRows

SEED = soak_plugin.seed(1)
EXAMPLES = (
    dict.fromkeys(GenerationMode, 4)
    if soak_plugin.SECONDS
    else {GenerationMode.POSITIVE: 2, GenerationMode.NEGATIVE: 1}
)
"""Numbers of requests that match the document, and that do not. The first of each kind is the simplest one."""
SITE = get_wsgi_application()
LONG = 1000
"""Texts that may have more characters than this lose their pattern in the document."""
Operation = Any
"""An operation of schemathesis, which has no useful type."""


def names() -> list[str]:
    """Return the name of every operation of the document."""
    return [operation["operationId"] for path in _document()["paths"].values() for operation in path.values()]


@functools.cache
def operations() -> dict[str, Operation]:
    """Return every operation of the document by its name, ready to be called in this process."""
    schemathesis.openapi.media_type("application/jsonl", jsonl())
    # The test sets the caller.
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
    schema = schemathesis.openapi.from_dict(_without_patterns_of_long_texts(_document()), config=config)
    schema.app = _read_whole_response
    operations_list = [result.ok() for result in schema.get_all_operations()]
    return {operation.definition.raw["operationId"]: operation for operation in operations_list}


def _document() -> Any:
    return json.loads(json.dumps(api.get_openapi_schema()))


def _without_patterns_of_long_texts(schema: Any) -> Any:
    """Return the schema without patterns of texts that may be long.

    Schemathesis writes pattern and length as one expression, which takes seconds to compile.
    """
    if isinstance(schema, list):
        return [_without_patterns_of_long_texts(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_long = isinstance(length := schema.get("maxLength"), int) and length > LONG
    return {k: _without_patterns_of_long_texts(v) for k, v in schema.items() if not (is_long and k == "pattern")}


def _read_whole_response(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Call the site as a WSGI application, read its response to the end and close it, as a server does."""
    with closing(SITE(environ, start_response)) as response:
        return [b"".join(response)]


def fuzz(operation: Operation, sample: SampleRows, judge: Callable[[Case], None], *, number: int) -> None:
    """Pass a few requests of each kind to `judge`, generated from the seed of round `number`."""
    for mode in _modes(operation):
        _run_round(_requests(operation, mode, sample), judge, SEED + number, EXAMPLES[mode])


def _modes(operation: Operation) -> list[GenerationMode]:
    takes_input = any(
        (operation.path_parameters, operation.query, operation.headers, operation.definition.raw.get("requestBody"))
    )
    return list(GenerationMode) if takes_input else [GenerationMode.POSITIVE]


def _run_round(requests: st.SearchStrategy[Case], judge: Callable[[Case], None], number: int, examples: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(requests)
    def run_example(case: Case) -> None:
        judge(case)

    run_example()


def _requests(operation: Operation, mode: GenerationMode, sample: SampleRows) -> st.SearchStrategy[Case]:
    cases = operation.as_strategy(mode, feedback=NO_FEEDBACK)
    return _with_existing_targets(cases, sample) if mode.is_positive else cases


@st.composite
def _with_existing_targets(draw: st.DrawFn, cases: st.SearchStrategy[Case], sample: SampleRows) -> Case:
    """Draw a valid request; mostly, and in the simplest case, for existing rows."""
    case = draw(cases)
    if draw(st.integers(0, 4)) < 4:
        for name, values in sample.valid_values(case.path).items():
            if name in case.path_parameters and values:
                case.path_parameters[name] = draw(st.sampled_from(values))
        _aim_query(draw, case, sample)
        _aim_body(draw, case, sample)
    return case


def _aim_query(draw: st.DrawFn, case: Case, sample: SampleRows) -> None:
    if case.path.endswith("/series"):
        case.query["run"] = draw(st.lists(st.sampled_from(sample.uids), min_size=1, max_size=3))
        case.query["key"] = ["reward/mean"]
    if "experiment" in case.query:
        case.query["experiment"] = draw(st.sampled_from(sample.experiments))


def _aim_body(draw: st.DrawFn, case: Case, sample: SampleRows) -> None:
    if not isinstance(case.body, dict):
        return
    content = case.operation.definition.raw["requestBody"]["content"].get("application/json", {})
    if "config" in content.get("example", {}):
        case.body["config"] = draw(configs())
    if case.path.endswith("/runs") and case.body.get("kind") == "external":
        case.body.pop("project", None)
        case.body["experiment"] = draw(st.sampled_from(sample.experiments))
    elif case.path.endswith("/runs"):
        case.body["preset"] = "es-micro"
        case.body.pop("experiment_name", None)
        case.body["experiment"] = draw(st.sampled_from(sample.experiments))
    judges = [meeting_rows.judge.pk for meeting_rows in sample.meetings]
    for name, values in (("experiment", sample.experiments), ("run", sample.uids), ("judge", judges)):
        if case.body.get(name) is not None:
            case.body[name] = draw(st.sampled_from(values))
