"""The prompts of both splits, from files or generated, without a prompt that is in both."""

from __future__ import annotations

from collections.abc import Sequence

from workers.config import SafetyOptions
from workers.corpus.safety import EVAL_REQUESTS, TRAIN_REQUESTS, Request, best_answer, kinds_of
from workers.tasks.safety.prompt_file import BadPrompts, Row, read_prompts, unique
from workers.tasks.safety.selection import select_balanced, split_halves


def make_splits(options: SafetyOptions) -> dict[str, list[Row]]:
    """Return split -> the rows of its prompts. Raise BadPrompts, also if nothing is left to train on."""
    train_file, eval_file, seed = options.train_file, options.eval_file, options.selection_seed
    if train_file and train_file == eval_file:
        train, held_out = _split_file(read_prompts(train_file), options)
    else:
        held_out = _select(_read(eval_file, EVAL_REQUESTS), options.eval_prompts, seed)
        train = _select(unique(_read(train_file, TRAIN_REQUESTS), excluded=held_out), options.train_prompts, seed)
    if not train or not held_out:
        raise BadPrompts(
            f"{len(train)} prompts are left to train on and {len(held_out)} to evaluate: no prompt may be in both"
        )
    return {"train": train, "eval": held_out}


def _split_file(rows: Sequence[Row], options: SafetyOptions) -> tuple[list[Row], list[Row]]:
    """Split one file into (training, held out). Rows that are not selected for one are left to the other."""
    train, held_out, seed = options.train_prompts, options.eval_prompts, options.selection_seed
    if not train and not held_out:
        return split_halves(rows, seed)
    if not train:
        selected = select_balanced(rows, held_out, seed)
        return unique(rows, excluded=selected), selected
    selected = select_balanced(rows, train, seed)
    return selected, select_balanced(rows, held_out, seed, excluded=selected) if held_out else unique(
        rows, excluded=selected
    )


def _read(path: str, generated: Sequence[Request]) -> list[Row]:
    return read_prompts(path) if path else [_generated(request) for request in generated]


def _generated(request: Request) -> Row:
    published = {"response_0": best_answer(request), "is_response_0_safe": True}
    return Row(request.prompt, "generated", "", kinds_of(request), published)


def _select(rows: Sequence[Row], count: int, seed: int) -> list[Row]:
    return select_balanced(rows, count, seed) if count else list(rows)
