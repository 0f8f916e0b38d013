"""Threads that wait for a server. They are daemons, so that a server that hangs does not delay the end of the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """Run `work` in a thread of its own."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """Return `work` of each item, in order, from at most so many threads. Raise the first error of any of them."""
    waiting: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
    ended: SimpleQueue[tuple[int, Result] | BaseException] = SimpleQueue()

    def serve() -> None:
        while (numbered := waiting.get()) is not None:
            try:
                ended.put((numbered[0], work(numbered[1])))
            except BaseException as error:
                ended.put(error)

    count = min(threads, len(items))
    for numbered in [*enumerate(items), *[None] * count]:
        waiting.put(numbered)
    for number in range(count):
        start_thread(serve, f"request {number}")
    results: dict[int, Result] = {}
    while len(results) < len(items):
        outcome = ended.get()
        if isinstance(outcome, BaseException):
            raise outcome
        results[outcome[0]] = outcome[1]
    return [results[number] for number in range(len(items))]
