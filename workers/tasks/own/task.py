"""The user's task as engines and evaluator see it: examples, and scores that a separate process computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workers.config import ConfigError, OwnOptions, Problem
from workers.tasks.base import Example, Failure, Score, Split
from workers.tasks.own.module import NoSuchTask, allowed_folders, find
from workers.tasks.own.process import Child, ChildFailed
from workers.tasks.scoring import ScoringPairs

LOADING_SECONDS = 300.0
"""Time to import the user's module, create its task and return its examples."""
MAX_BATCH_PAIRS, MAX_BATCH_CHARACTERS = 256, 2**20

Examples = dict[str, list[Example]]


class OwnTask:
    """A task of the user's own, tried once with its first example. Raise ConfigError naming the mistake."""

    name = "own"

    def __init__(self, options: OwnOptions, reward_seconds: float) -> None:
        self._options = options
        self._seconds = reward_seconds
        self._child: Child | None = None
        self._examples = self._start()
        # Keyed by identity: the user's examples may hold more than the fields that make two examples equal here.
        self._positions = {id(e): (split, i) for split, listed in self._examples.items() for i, e in enumerate(listed)}
        self._try_first_example()

    def examples(self, split: Split) -> Sequence[Example]:
        """Return the result of the user's `examples(split)`."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """Return one score, without a second try. Raise ChildFailed."""
        scores, failure = self.score_until_failure([(example, completion)])
        if failure is not None:
            raise ChildFailed(failure.reason, failure.details)
        return scores[0]

    def score_until_failure(self, pairs: ScoringPairs) -> tuple[list[Score], Failure | None]:
        """Score in order up to the first failure: (the scores before it, its failure or None).

        After a reward that hung or killed its process, the next call starts another one.
        """
        scores: list[Score] = []
        try:
            for batch in _batches(pairs):
                child = self._ensure_running()
                child.ask("score", [[*self._positions[id(example)], completion] for example, completion in batch])
                for _ in batch:
                    answer = child.answer(self._seconds, self._timeout_reason())
                    if "failure" in answer:
                        return scores, Failure(answer["failure"], answer["details"])
                    scores.append(Score(answer["reward"], answer["parts"]))
        except ChildFailed as failed:
            self._child = None
            return scores, Failure(failed.reason, failed.details)
        except BaseException:
            # Interrupted between two replies: later replies would be taken for those of other requests.
            self.close()
            raise
        return scores, None

    def close(self) -> None:
        """End the process; the next score starts another one."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _ensure_running(self) -> Child:
        """Return the process, started again if it has ended. Raise ChildFailed, also if its examples have changed."""
        if self._child is None:
            try:
                restarted = self._start()
            except ConfigError as error:
                raise ChildFailed(f"the task could not be restarted: {error}", "") from error
            if restarted != self._examples:
                self.close()
                raise ChildFailed("after a restart, the task returned other examples: they must always be the same", "")
        if self._child is None:
            raise ChildFailed("the task was closed", "")
        return self._child

    def _start(self) -> Examples:
        """Start a process that has loaded the task; return the examples. Raise ConfigError."""
        path = self._options.path
        try:
            folders = allowed_folders()
            # Checked before a process starts: a wrong name is the usual mistake.
            find(path, folders)
        except NoSuchTask as error:
            raise _option_error("path", str(error)) from error
        child = Child()
        body = {"path": path, "folders": [str(f) for f in folders], "options": self._options.options}
        child.ask("load", body)
        try:
            answer = child.answer(LOADING_SECONDS, f"{path} was not loaded within {LOADING_SECONDS:g} s")
        except ChildFailed as failed:
            raise _option_error(
                "path", f"{path} cannot be used: {failed.reason}{_details_suffix(failed.details)}"
            ) from failed
        if "problem" in answer:
            child.end()
            raise _option_error(answer["at"], answer["problem"])
        self._child = child
        return {split: _examples(rows) for split, rows in answer["examples"].items()}

    def _try_first_example(self) -> None:
        """Score the first example with an empty completion, which any model may give one day. Raise ConfigError."""
        _, failure = self.score_until_failure([(self._examples["train"][0], "")])
        if failure is not None:
            self.close()
            raise _option_error(
                "path",
                f"{self._options.path} failed its test, score of its first example and an empty completion: "
                f"{failure.reason}{_details_suffix(failure.details)}",
            )

    def _timeout_reason(self) -> str:
        return f"it took longer than {self._seconds:g} s, the limit that task.reward_seconds sets"


def _examples(rows: Sequence[Any]) -> list[Example]:
    return [Example(name, tuple(messages), target, tuple(categories)) for name, messages, target, categories in rows]


def _batches(pairs: ScoringPairs) -> Iterator[list[tuple[Example, str]]]:
    """Yield batches in order, large enough that requests cost little and small enough to send."""
    batch: list[tuple[Example, str]] = []
    characters = 0
    for example, completion in pairs:
        batch.append((example, completion))
        characters += len(completion)
        if len(batch) >= MAX_BATCH_PAIRS or characters >= MAX_BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _option_error(key: str, message: str) -> ConfigError:
    return ConfigError([Problem(f"task.options.{key}", message)])


def _details_suffix(details: str) -> str:
    return f"\n{details.strip()}" if details.strip() else ""
