"""The prompts of both splits, from files or generated, without one that stands in both."""

from __future__ import annotations

from collections.abc import Sequence

from workers.config import SafetyOptions
from workers.corpus.safety import EVAL_REQUESTS, TRAIN_REQUESTS, Request, kinds_of
from workers.tasks.safety.balanced import balanced, halves
from workers.tasks.safety.prompt_file import BadPrompts, Row, read_prompts, unique


def splits(options: SafetyOptions) -> dict[str, list[Row]]:
    """split -> the rows of its prompts. Raises BadPrompts, also where nothing is left to train on."""
    train_file, eval_file, seed = options.train_file, options.eval_file, options.selection_seed
    if train_file and train_file == eval_file:
        train, held_out = _divided(read_prompts(train_file), options)
    else:
        held_out = _some(_read(eval_file, EVAL_REQUESTS), options.eval_prompts, seed)
        train = _some(unique(_read(train_file, TRAIN_REQUESTS), but=held_out), options.train_prompts, seed)
    if not train or not held_out:
        raise BadPrompts(
            f"{len(train)} prompts are left to train on and {len(held_out)} to judge by: no prompt may do both"
        )
    return {"train": train, "eval": held_out}


def _divided(rows: Sequence[Row], options: SafetyOptions) -> tuple[list[Row], list[Row]]:
    """One file for both: (training, held out). What is not chosen for one is left to the other."""
    train, held_out, seed = options.train_prompts, options.eval_prompts, options.selection_seed
    if not train and not held_out:
        return halves(rows, seed)
    if not train:
        chosen = balanced(rows, held_out, seed)
        return unique(rows, but=chosen), chosen
    chosen = balanced(rows, train, seed)
    return chosen, balanced(rows, held_out, seed, but=chosen) if held_out else unique(rows, but=chosen)


def _read(path: str, generated: Sequence[Request]) -> list[Row]:
    return read_prompts(path) if path else [Row(one.prompt, "generated", "", kinds_of(one)) for one in generated]


def _some(rows: Sequence[Row], count: int, seed: int) -> list[Row]:
    return balanced(rows, count, seed) if count else list(rows)
