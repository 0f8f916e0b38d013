"""Requests to the API, made by schemathesis from its OpenAPI document: such as fit it, and such as do not.

In `make test` each operation is tried with the same few requests every time; `make soak PART=fuzz` goes on with others.
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
from tests import soaking
from tests.security.request_bodies import configs, jsonl
from tests.security.sample_rows import Stage

SEED = soaking.seed(1)
EXAMPLES = (
    dict.fromkeys(GenerationMode, 4) if soaking.SECONDS else {GenerationMode.POSITIVE: 2, GenerationMode.NEGATIVE: 1}
)
"""Requests that fit the document, and that do not. The first of each kind is the simplest one."""
SITE = get_wsgi_application()
LONG = 1000
"""A text that may have more characters than this keeps no pattern in the document."""
Operation = Any
"""schemathesis's, whose type says little."""


def names() -> list[str]:
    """Return the name of every operation of the document."""
    return [operation["operationId"] for path in _document()["paths"].values() for operation in path.values()]


@functools.cache
def operations() -> dict[str, Operation]:
    """Every operation of the document by its name, ready to be called in this process."""
    schemathesis.openapi.media_type("application/jsonl", jsonl())
    # Who calls is the test's to say.
    config = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
    schema = schemathesis.openapi.from_dict(_without_patterns_of_long_texts(_document()), config=config)
    schema.app = _whole
    found = [made.ok() for made in schema.get_all_operations()]
    return {operation.definition.raw["operationId"]: operation for operation in found}


def _document() -> Any:
    return json.loads(json.dumps(api.get_openapi_schema()))


def _without_patterns_of_long_texts(schema: Any) -> Any:
    """Return the schema with lengths alone where a text may be long.

    Schemathesis writes pattern and length as one expression, which takes seconds to compile.
    """
    if isinstance(schema, list):
        return [_without_patterns_of_long_texts(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    is_long = isinstance(length := schema.get("maxLength"), int) and length > LONG
    return {k: _without_patterns_of_long_texts(v) for k, v in schema.items() if not (is_long and k == "pattern")}


def _whole(environ: dict[str, Any], start: Any) -> list[bytes]:
    """The site as a WSGI application whose answers are read to their end and closed, as a server does."""
    with closing(SITE(environ, start)) as answer:
        return [b"".join(answer)]


def fuzz(operation: Operation, stage: Stage, judge: Callable[[Case], None], *, number: int) -> None:
    """Judge a few requests of each kind, drawn from the seed of round `number`."""
    for mode in _modes(operation):
        _round(_requests(operation, mode, stage), judge, SEED + number, EXAMPLES[mode])


def _modes(operation: Operation) -> list[GenerationMode]:
    takes_something = any(
        (operation.path_parameters, operation.query, operation.headers, operation.definition.raw.get("requestBody"))
    )
    return list(GenerationMode) if takes_something else [GenerationMode.POSITIVE]


def _round(requests: st.SearchStrategy[Case], judge: Callable[[Case], None], number: int, examples: int) -> None:
    @seed(number)
    @settings(
        max_examples=examples, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(requests)
    def one(case: Case) -> None:
        judge(case)

    one()


def _requests(operation: Operation, mode: GenerationMode, stage: Stage) -> st.SearchStrategy[Case]:
    made = operation.as_strategy(mode, feedback=NO_FEEDBACK)
    return _aimed(made, stage) if mode.is_positive else made


@st.composite
def _aimed(draw: st.DrawFn, made: st.SearchStrategy[Case], stage: Stage) -> Case:
    """A request that fits the document; most times, and in the simplest case, for something that is there."""
    case = draw(made)
    if draw(st.integers(0, 4)) < 4:
        for name, values in stage.fits(case.path).items():
            if name in case.path_parameters and values:
                case.path_parameters[name] = draw(st.sampled_from(values))
        _aim_query(draw, case, stage)
        _aim_body(draw, case, stage)
    return case


def _aim_query(draw: st.DrawFn, case: Case, stage: Stage) -> None:
    if case.path.endswith("/series"):
        case.query["run"] = draw(st.lists(st.sampled_from(stage.uids), min_size=1, max_size=3))
        case.query["key"] = ["reward/mean"]
    if "experiment" in case.query:
        case.query["experiment"] = draw(st.sampled_from(stage.experiments))


def _aim_body(draw: st.DrawFn, case: Case, stage: Stage) -> None:
    if not isinstance(case.body, dict):
        return
    shown = case.operation.definition.raw["requestBody"]["content"].get("application/json", {})
    if "config" in shown.get("example", {}):
        case.body["config"] = draw(configs())
    if case.path.endswith("/runs"):
        case.body["preset"] = "es-micro"
        case.body.pop("experiment_name", None)
        case.body["experiment"] = draw(st.sampled_from(stage.experiments))
    judges = [one.judge.pk for one in stage.meetings]
    for name, values in (("experiment", stage.experiments), ("run", stage.uids), ("judge", judges)):
        if case.body.get(name) is not None:
            case.body[name] = draw(st.sampled_from(values))
