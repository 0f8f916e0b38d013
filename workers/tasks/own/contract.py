"""What the user's code may give, and the sentences where it gives something else.

A task is a class or function that is called with the options and gives an object with

    examples(split)               a sequence of {"prompt": text} or {"messages": [{"role", "content"}, …]}, each with
                                  "target", "id" and "category" where wanted, and with whatever else `score` needs
    score(example, completion)    a number, or {"reward": number, "<part>": number, …}; `example` as `examples` gave it
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workers.records import categories_of
from workers.tasks.base import Example, Score, example_id
from workers.tasks.safely import finite

SPLITS = ("train", "eval")
EXAMPLES_AT_MOST, PARTS_AT_MOST = 1_000_000, 32
ID_CHARACTERS = 100
PART = re.compile(r"[A-Za-z0-9_.-]{1,60}")
KINDS = '{"prompt": "…"} or {"messages": [{"role": "user", "content": "…"}]}'


class Unfit(ValueError):
    """The user's code gave something that is no task, no example or no score. The message says what it must be."""


def built(attribute: Any, options: dict[str, Any], path: str) -> Any:
    """The user's task. Raises Unfit; whatever the user's code raises passes through."""
    is_task = hasattr(attribute, "examples") and hasattr(attribute, "score") and not inspect.isclass(attribute)
    task = attribute if is_task else _called(attribute, options, path)
    for method, arguments in (("examples", "split"), ("score", "example, completion")):
        if not callable(getattr(task, method, None)):
            there = [n for n in dir(task) if not n.startswith("_")]
            raise Unfit(
                f"{path} gives no {method}({arguments}): it must be a class with examples(split) and "
                f"score(example, completion), or a function that makes one; {type(task).__name__} has "
                f"{', '.join(there[:20]) or 'nothing'}"
            )
    return task


def _called(attribute: Any, options: dict[str, Any], path: str) -> Any:
    if not callable(attribute):
        raise Unfit(f"{path} must be a class or a function, and is of type {type(attribute).__name__}")
    try:
        takes = inspect.signature(attribute)
    except ValueError:
        return attribute(options)
    if _fits(takes, options):
        return attribute(options)
    if _fits(takes) and not options:
        return attribute()
    raise Unfit(f"{path} must take one argument, the options; it takes {takes}")


def _fits(takes: inspect.Signature, *arguments: Any) -> bool:
    try:
        takes.bind(*arguments)
    except TypeError:
        return False
    return True


def examples_of(given: Any, split: str) -> list[Example]:
    """What `examples(split)` gave, as examples. Raises Unfit naming the item."""
    is_sequence = hasattr(given, "__len__") and hasattr(given, "__getitem__")
    if not is_sequence or isinstance(given, str | bytes | Mapping):
        raise Unfit(f"examples({split!r}) must give a sequence such as a list, not {type(given).__name__}")
    if not 0 < len(given) <= EXAMPLES_AT_MOST:
        raise Unfit(f"examples({split!r}) must give 1 to {EXAMPLES_AT_MOST} examples, not {len(given)}")
    found: dict[str, int] = {}
    listed = []
    for number in range(len(given)):
        example = _example(given[number], f"examples({split!r}), item {number}")
        if example.id in found:
            raise Unfit(f"examples({split!r}), item {number} has the id {example.id!r} of item {found[example.id]}")
        found[example.id] = number
        listed.append(example)
    return listed


def _example(item: Any, place: str) -> Example:
    if isinstance(item, Example):
        categories = list(item.categories)
        item = {"id": item.id, "messages": list(item.messages), "target": item.target, "categories": categories}
    if not isinstance(item, Mapping):
        raise Unfit(f"{place} must be {KINDS}, not {type(item).__name__}")
    if ("prompt" in item) == ("messages" in item):
        raise Unfit(f"{place} must have either prompt or messages: {KINDS}; its keys are {_keys(item)}")
    messages = _messages(item, place)
    target = item.get("target", "")
    if not isinstance(target, str):
        raise Unfit(f"{place}: target must be text, not {type(target).__name__}; keep other things under other keys")
    given = item.get("id", example_id(*(m["content"] for m in messages), target))
    if not isinstance(given, str) or not 0 < len(given) <= ID_CHARACTERS:
        raise Unfit(f"{place}: id must be text of 1 to {ID_CHARACTERS} characters, not {repr(given)[:80]}")
    return Example(given, messages, target, categories_of(item))


def _messages(item: Mapping[str, Any], place: str) -> tuple[dict[str, str], ...]:
    if "prompt" in item:
        if not isinstance(item["prompt"], str):
            raise Unfit(f"{place}: prompt must be text, not {type(item['prompt']).__name__}")
        return ({"role": "user", "content": item["prompt"]},)
    messages = item["messages"]
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise Unfit(f"{place}: messages must be a list with at least one message")
    for message in messages:
        fits = isinstance(message, Mapping) and message.keys() == {"role", "content"}
        if not fits or not all(isinstance(value, str) for value in message.values()):
            raise Unfit(f"{place}: a message must be {{'role': text, 'content': text}}, not {repr(message)[:80]}")
    return tuple({"role": m["role"], "content": m["content"]} for m in messages)


def score_of(given: Any) -> Score:
    """What `score` gave, as a score. Raises TypeError or ValueError."""
    if isinstance(given, Score):
        reward, parts = given.reward, dict(given.parts)
    elif isinstance(given, Mapping):
        if "reward" not in given:
            raise ValueError(f"score gave an object without reward; its keys are {_keys(given)}")
        reward, parts = given["reward"], {name: value for name, value in given.items() if name != "reward"}
    else:
        reward, parts = given, {}
    if len(parts) > PARTS_AT_MOST:
        raise ValueError(f"score gave {len(parts)} parts; at most {PARTS_AT_MOST} are kept")
    for name in parts:
        if not isinstance(name, str) or not PART.fullmatch(name):
            raise ValueError(f"a part's name has 1 to 60 letters, digits, _ . or -, and {repr(name)[:80]} has not")
    return Score(_number("reward", reward), {name: _number(f"part {name}", value) for name, value in parts.items()})


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool):
        return float(value)
    # A number of numpy's or torch's own, or an array of one.
    return finite(name, value.item() if hasattr(value, "item") else value)


def _keys(item: Mapping[Any, Any]) -> str:
    return ", ".join(repr(key) for key in list(item)[:20])[:200] or "none"
