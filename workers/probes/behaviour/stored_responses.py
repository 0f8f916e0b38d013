"""Greedy responses on which a curvature is measured: those that a run has stored, or else new ones of its weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.probes.behaviour.prompted_model import PromptedModel
from workers.probes.weights import Subject, WeightFiles
from workers.records import BadLine, Response, unpack

RESPONSE_LINE = f'"kind":"{Response.kind}"'.encode()


@dataclass(frozen=True)
class Continuation:
    """The token ids of a prompt and of a response to it; neither is empty."""

    prompt: list[int]
    response: list[int]


def greedy_continuations(model: PromptedModel, subject: Subject, count: int) -> tuple[str, list[Continuation]]:
    """Return the source, <name>@<step>, and at most `count` greedy responses to held-out prompts.

    They are those that the run stored last, at the subject's step or before it. Their text is tokenized again, and the
    first end token added unless the response was cut off. If none is stored for a prompt of the task, the subject's own
    greedy responses are generated; the model has its weights then. Raise RewardFailed.
    """
    step, responses = stored_responses(subject.attempts, subject.step)
    examples = {example.id: example for example in model.task.examples("eval")}
    stored = []
    for response in responses:
        if example := examples.get(response.prompt_id):
            tokens = _tokens(model, response)
            stored += [Continuation(model.format.ids(example.messages), tokens)] if tokens else []
    if stored:
        return f"{subject.name}@{step}", stored[:count]
    with WeightFiles(subject.tuned) as files:
        model.write_files(files)
    pairs = zip(model.prompts, model.greedy(), strict=True)
    return str(subject), [Continuation(prompt, answer.completion.tokens) for prompt, answer in pairs][:count]


def stored_responses(attempts: Sequence[Path], last_step: int) -> tuple[int, list[Response]]:
    """Return the latest step up to `last_step` with greedy responses to held-out prompts, and these responses.

    Of several to one prompt at that step, the newest counts: later attempts, and later epochs of an attempt, repeat
    steps. The step is 0 if there is no response.
    """
    step = -1
    newest: dict[str, Response] = {}
    for response in _greedy_responses(attempts):
        if step < response.step <= last_step:
            step = response.step
            newest = {}
        if response.step == step:
            newest[response.prompt_id] = response
    return max(step, 0), list(newest.values())


def _greedy_responses(attempts: Sequence[Path]) -> Iterator[Response]:
    """Yield the greedy responses to held-out prompts of all record files, oldest first."""
    for attempt in attempts:
        files = [file for file in attempt.glob("records.*.jsonl") if file.name.split(".")[1].isdigit()]
        for file in sorted(files, key=lambda file: int(file.name.split(".")[1])):
            with file.open("rb") as lines:
                for line in lines:
                    response = _response(line) if RESPONSE_LINE in line else None
                    if response and response.split == "eval" and response.sample == 0:
                        yield response


def _response(line: bytes) -> Response | None:
    """Return the response of a line; None if it is another record, or a kill has torn the line."""
    try:
        record = unpack(line).record
    except BadLine:
        return None
    return record if isinstance(record, Response) else None


def _tokens(model: PromptedModel, response: Response) -> list[int]:
    ids: list[int] = model.loaded.tokenizer(response.text, add_special_tokens=False)["input_ids"]
    return ids if response.parts.get("clipped") else ids + model.ends[:1]
