"""The user's task as engines and evaluator see it: examples, and scores that a process of its own works out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workers.config import ConfigError, OwnOptions, Problem
from workers.tasks.base import Example, Failure, Score, Split
from workers.tasks.own.module import NoSuchTask, allowed_folders, find
from workers.tasks.own.process import Child, ChildFailed
from workers.tasks.safely import Asked

LOADING_SECONDS = 300.0
"""For the user's module to be imported, its task to be made and its examples to be given."""
ASKED_AT_ONCE, CHARACTERS_AT_ONCE = 256, 2**20

Examples = dict[str, list[Example]]


class Own:
    """A task of the user's own, tried once with its first example. Raises ConfigError saying what does not fit."""

    name = "own"

    def __init__(self, options: OwnOptions, reward_seconds: float) -> None:
        self._options = options
        self._seconds = reward_seconds
        self._child: Child | None = None
        self._examples = self._begun()
        # By identity: an example of the user's may hold more than what makes two examples equal here.
        self._places = {id(e): (split, i) for split, listed in self._examples.items() for i, e in enumerate(listed)}
        self._try()

    def examples(self, split: Split) -> Sequence[Example]:
        """What the user's `examples(split)` gave."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """One score, without a second try. Raises ChildFailed."""
        scores, failure = self.score_until_failure([(example, completion)])
        if failure is not None:
            raise ChildFailed(failure.reason, failure.details)
        return scores[0]

    def score_until_failure(self, asked: Asked) -> tuple[list[Score], Failure | None]:
        """Scores in order up to the first that fails: (the scores before it, its failure or None).

        After a reward that hung or killed its process, the next call starts another one.
        """
        scores: list[Score] = []
        try:
            for batch in _batches(asked):
                child = self._running()
                child.ask("score", [[*self._places[id(example)], completion] for example, completion in batch])
                for _ in batch:
                    answer = child.answer(self._seconds, self._too_long())
                    if "failure" in answer:
                        return scores, Failure(answer["failure"], answer["details"])
                    scores.append(Score(answer["reward"], answer["parts"]))
        except ChildFailed as failed:
            self._child = None
            return scores, Failure(failed.reason, failed.details)
        except BaseException:
            # Interrupted between two answers: those to come would be taken for others.
            self.close()
            raise
        return scores, None

    def close(self) -> None:
        """Ends the process; a score asked for later starts another one."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _running(self) -> Child:
        """The process, started again where it is gone. Raises ChildFailed, also where its examples are others now."""
        if self._child is None:
            try:
                again = self._begun()
            except ConfigError as error:
                raise ChildFailed(f"the task could not be started again: {error}", "") from error
            if again != self._examples:
                self.close()
                raise ChildFailed("started again, the task gave other examples: they must be the same each time", "")
        if self._child is None:
            raise ChildFailed("the task was closed", "")
        return self._child

    def _begun(self) -> Examples:
        """Starts a process that has loaded the task; gives the examples. Raises ConfigError."""
        path = self._options.path
        try:
            folders = allowed_folders()
            # Before a process is started: a name that is wrong is the usual mistake.
            find(path, folders)
        except NoSuchTask as error:
            raise _refused("path", str(error)) from error
        child = Child()
        body = {"path": path, "folders": [str(f) for f in folders], "options": self._options.options}
        child.ask("load", body)
        try:
            answer = child.answer(LOADING_SECONDS, f"{path} was not loaded within {LOADING_SECONDS:g} s")
        except ChildFailed as failed:
            raise _refused("path", f"{path} cannot be used: {failed.reason}{_after(failed.details)}") from failed
        if "problem" in answer:
            child.end()
            raise _refused(answer["at"], answer["problem"])
        self._child = child
        return {split: _examples(rows) for split, rows in answer["examples"].items()}

    def _try(self) -> None:
        """The first example with an empty completion, which any model may give one day. Raises ConfigError."""
        _, failure = self.score_until_failure([(self._examples["train"][0], "")])
        if failure is not None:
            self.close()
            raise _refused(
                "path",
                f"{self._options.path} was tried: score of its first example and an empty completion failed: "
                f"{failure.reason}{_after(failure.details)}",
            )

    def _too_long(self) -> str:
        return f"it took longer than {self._seconds:g} s, the limit that task.reward_seconds sets"


def _examples(rows: Sequence[Any]) -> list[Example]:
    return [Example(name, tuple(messages), target, tuple(named)) for name, messages, target, named in rows]


def _batches(asked: Asked) -> Iterator[list[tuple[Example, str]]]:
    """In order, so many at once that asking costs little and a request stays small."""
    batch: list[tuple[Example, str]] = []
    characters = 0
    for example, completion in asked:
        batch.append((example, completion))
        characters += len(completion)
        if len(batch) >= ASKED_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _refused(key: str, message: str) -> ConfigError:
    return ConfigError([Problem(f"task.options.{key}", message)])


def _after(details: str) -> str:
    return f"\n{details.strip()}" if details.strip() else ""
