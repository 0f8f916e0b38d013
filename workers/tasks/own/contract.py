"""Check the results of the user's code, and name the mistakes in them.

A task is a class or function that is called with the options and gives an object with

    examples(split)               a sequence of {"prompt": text} or {"messages": [{"role", "content"}, …]}, each with
                                  "target", "id" and "category" if wanted, and any other keys that `score` needs
    score(example, completion)    a number, or {"reward": number, "<part>": number, …}; `example` as `examples` gave it
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workers.records import categories_of
from workers.tasks.base import Example, Score, example_id
from workers.tasks.scoring import finite

SPLITS = ("train", "eval")
MAX_EXAMPLES, MAX_PARTS = 1_000_000, 32
MAX_ID_CHARACTERS = 100
PART = re.compile(r"[A-Za-z0-9_.-]{1,60}")
KINDS = '{"prompt": "…"} or {"messages": [{"role": "user", "content": "…"}]}'


class InvalidTask(ValueError):
    """The user's code returned something that is no task, no example or no score. The message gives the requirement."""


def build_task(attribute: Any, options: dict[str, Any], path: str) -> Any:
    """Return the user's task. Raise InvalidTask; errors of the user's code pass through."""
    is_task = hasattr(attribute, "examples") and hasattr(attribute, "score") and not inspect.isclass(attribute)
    task = attribute if is_task else _instantiate(attribute, options, path)
    for method, arguments in (("examples", "split"), ("score", "example, completion")):
        if not callable(getattr(task, method, None)):
            attributes = [n for n in dir(task) if not n.startswith("_")]
            raise InvalidTask(
                f"{path} gives no {method}({arguments}): it must be a class with examples(split) and "
                f"score(example, completion), or a function that returns one; {type(task).__name__} has "
                f"{', '.join(attributes[:20]) or 'nothing'}"
            )
    return task


def _instantiate(attribute: Any, options: dict[str, Any], path: str) -> Any:
    if not callable(attribute):
        raise InvalidTask(f"{path} must be a class or a function, not {type(attribute).__name__}")
    try:
        signature = inspect.signature(attribute)
    except ValueError:
        return attribute(options)
    if _fits(signature, options):
        return attribute(options)
    if _fits(signature) and not options:
        return attribute()
    raise InvalidTask(f"{path} must take one argument, the options, not {signature}")


def _fits(signature: inspect.Signature, *arguments: Any) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def parse_examples(rows: Any, split: str) -> list[Example]:
    """Return the result of `examples(split)` as examples. Raise InvalidTask naming the item."""
    is_sequence = hasattr(rows, "__len__") and hasattr(rows, "__getitem__")
    if not is_sequence or isinstance(rows, str | bytes | Mapping):
        raise InvalidTask(f"examples({split!r}) must return a sequence such as a list, not {type(rows).__name__}")
    if not 0 < len(rows) <= MAX_EXAMPLES:
        raise InvalidTask(f"examples({split!r}) must return 1 to {MAX_EXAMPLES} examples, not {len(rows)}")
    positions: dict[str, int] = {}
    examples = []
    for number in range(len(rows)):
        example = _example(rows[number], f"examples({split!r}), item {number}")
        if example.id in positions:
            raise InvalidTask(
                f"examples({split!r}), item {number} has the id {example.id!r} of item {positions[example.id]}"
            )
        positions[example.id] = number
        examples.append(example)
    return examples


def _example(item: Any, location: str) -> Example:
    if isinstance(item, Example):
        categories = list(item.categories)
        item = {"id": item.id, "messages": list(item.messages), "target": item.target, "categories": categories}
    if not isinstance(item, Mapping):
        raise InvalidTask(f"{location} must be {KINDS}, not {type(item).__name__}")
    if ("prompt" in item) == ("messages" in item):
        raise InvalidTask(f"{location} must have either prompt or messages: {KINDS}; its keys are {_keys(item)}")
    messages = _messages(item, location)
    target = item.get("target", "")
    if not isinstance(target, str):
        raise InvalidTask(
            f"{location}: target must be text, not {type(target).__name__}; store other data under other keys"
        )
    identifier = item.get("id", example_id(*(m["content"] for m in messages), target))
    if not isinstance(identifier, str) or not 0 < len(identifier) <= MAX_ID_CHARACTERS:
        raise InvalidTask(
            f"{location}: id must be text of 1 to {MAX_ID_CHARACTERS} characters, not {repr(identifier)[:80]}"
        )
    return Example(identifier, messages, target, categories_of(item))


def _messages(item: Mapping[str, Any], location: str) -> tuple[dict[str, str], ...]:
    if "prompt" in item:
        if not isinstance(item["prompt"], str):
            raise InvalidTask(f"{location}: prompt must be text, not {type(item['prompt']).__name__}")
        return ({"role": "user", "content": item["prompt"]},)
    messages = item["messages"]
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise InvalidTask(f"{location}: messages must be a list with at least one message")
    for message in messages:
        fits = isinstance(message, Mapping) and message.keys() == {"role", "content"}
        if not fits or not all(isinstance(value, str) for value in message.values()):
            raise InvalidTask(
                f"{location}: a message must be {{'role': text, 'content': text}}, not {repr(message)[:80]}"
            )
    return tuple({"role": m["role"], "content": m["content"]} for m in messages)


def parse_score(result: Any) -> Score:
    """Return the result of `score` as a score. Raise TypeError or ValueError."""
    if isinstance(result, Score):
        reward, parts = result.reward, dict(result.parts)
    elif isinstance(result, Mapping):
        if "reward" not in result:
            raise ValueError(f"score returned an object without reward; its keys are {_keys(result)}")
        reward, parts = result["reward"], {name: value for name, value in result.items() if name != "reward"}
    else:
        reward, parts = result, {}
    if len(parts) > MAX_PARTS:
        raise ValueError(f"score returned {len(parts)} parts; at most {MAX_PARTS} are allowed")
    for name in parts:
        if not isinstance(name, str) or not PART.fullmatch(name):
            raise ValueError(f"a part's name must be 1 to 60 letters, digits, _ . or -, not {repr(name)[:80]}")
    return Score(_number("reward", reward), {name: _number(f"part {name}", value) for name, value in parts.items()})


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    # It may be a number of numpy or torch, or an array of one.
    return finite(name, value.item() if hasattr(value, "item") else value)


def _keys(item: Mapping[Any, Any]) -> str:
    return ", ".join(repr(key) for key in list(item)[:20])[:200] or "none"
