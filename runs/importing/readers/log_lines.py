"""Parse single lines of training logs: settings, iterations, TRL's dictionaries, progress, answers, the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from runs.importing import hyperparameters
from runs.importing.numbers import BARE, PLAIN, number, unwrapped
from workers.config.shallow_json import MAX_DEPTH

ITERATION = re.compile(r"\bIteration\s+(\d{1,15})(?:\s*/\s*(\d{1,15}))?\s*[,:|]\s*(.*\S)", re.IGNORECASE)
HELD_OUT = re.compile(
    r"\[Eval(?:uation)?\]\s*(?:Iteration|Step)\s+(\d{1,15})(?:\s*/\s*\d+)?\s*[:,]?\s*(.*)", re.IGNORECASE
)
UNIT = r"(?:s|secs?|seconds?|%|x|[KMGT]i?B|it/s|s/it|tok(?:en)?s?(?:/s)?)?"
PAIR = re.compile(
    r"([A-Za-z][\w /.()%-]{0,60}?)(?:\s{0,60}+[:=]\s*+|\s{1,60}+)(" + BARE + r")" + UNIT + r"(?=[\s;|]|,(?!\d)|$)",
    re.IGNORECASE,
)
"""A label and its number. One with another unit, or with a comma for its point, would be read as a wrong number."""
LABEL = re.compile(r"([A-Za-z][\w /.()%-]{0,60}?)\s{0,60}+[:=]\s*+(?=\S)")
MEMORY = re.compile(r"^GPU Memory:\s*(" + BARE + r")\s*MB allocated,\s*(" + BARE + r")\s*MB peak", re.IGNORECASE)
BAR = re.compile(r"^\s*\d{1,3}%\|[^|]*\|\s*(\d{1,15})/(\d{1,15})\s*\[(?:(\d+):)?(\d+):(\d\d)<")
ITEM = re.compile(r"""['"]([^'"]{1,250})['"]\s*:\s*(\[[^\]]*\]|['"][^'"]*['"]|[^,{}\[\]]+(?:\([^)]*\))?)""")
NESTED, BRACE = re.compile(r"\{[^{}]*\}"), re.compile(r"[{}]")
LONGEST_LINE, LONGEST_ROW = 8_192, 2_048
"""Characters of a line, and of an iteration in it. Patterns look for one thing among others, and must not be led along
a line of megabytes."""
TRL_WORDS = ("loss", "grad_norm", "learning_rate", "reward", "epoch", "eval_loss", "eval_reward", "train_runtime", "kl")
TRL_BEGINS = re.compile(
    r"""\{\s*['"](?:loss|grad_norm|learning_rate|reward|rewards/|epoch|eval_|train_|kl|step|num_tokens|completions/)"""
)
FOLLOWING = re.compile(r"""(?<=\})(?=[^{}\n]{0,200}\{\s*['"])""")
RECORD = re.compile(
    r"\[Eval(?:uation)?\]\s*(?:Iteration|Step)\s+\d|Iteration\s+\d+(?:\s*/\s*\d+)?\s*[,:|]|GPU Memory: "
)
SETTING = re.compile(r"^\s*-{0,2}([A-Za-z_][\w.-]*(?: \([^)]*\))?)\s*[:=]\s+?(\S.*)$")
KNOWN = {
    "alpha", "sigma", "beta", "seed", "population", "steps", "longest", "learning_rate", "num_generations", "model",
    "precision", "temperature", "top_p", "eval_steps", "save_steps", "algorithm",
}  # fmt: skip
SECTION = re.compile(r"^\[((?:\w+ )*(?:Config|Settings|Dataset|Distributed|Arguments|Hyperparameters))\]\s*$", re.I)
NAMESPACE = re.compile(r"\b(?:Namespace|Args|\w*Config|\w*Arguments)\((?=[^=\n]*=)(.*)\)\s*$")
KEYWORD = re.compile(r"(?<!\w)(\w++)=('[^']*'|\"[^\"]*\"|[^\s,()\[\]{}]+)")
ARRAY = re.compile(r"^\[SLURM\][^>]*->\s*(.*)$")
RUN_NAME = re.compile(r"(?:Syncing run|wandb run name:?|run_name:?)\s+(\S+)")
MODEL = re.compile(r"\bLoading model (\S+?)\.{3}")
SAVED_AS = re.compile(r"\b(es_random_seed\w[\w.+-]*)")
STARTED = re.compile(r"\brun-(\d{8})_(\d{6})-|\b(20\d\d-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
FINISHED = re.compile(
    r"^\s*(?:Training complete(?:d)?\b|Final model saved|Training finished|Saving final model)"
    r"(?:.*? in (" + BARE + r")\s*s\b)?",
    re.IGNORECASE,
)  # fmt: skip
ANSWERS = re.compile(r"^\[(?:TRL )?(Eval|Train)(?:uation|ing)? Completions - Step (\d{1,15})\]", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """Numbers of an iteration: labels and values as printed. `total` is 0 where it is not told, `unread` are the labels
    whose values are no numbers."""

    step: int
    total: int
    pairs: tuple[tuple[str, str], ...]
    unread: tuple[str, ...] = ()
    is_held_out: bool = False


def row(text: str) -> Row | None:
    """An `Iteration i/N, …` or `[Eval] Iteration i: …` line, if the text is one with numbers."""
    if len(text) > LONGEST_ROW:
        return None
    if match := HELD_OUT.search(text):
        return Row(int(match[1]), 0, *_pairs(match[2]), is_held_out=True)
    match = ITERATION.search(text)
    return Row(int(match[1]), int(match[2] or 0), *_pairs(match[3])) if match else None


def goes_on(before: str, text: str) -> bool:
    """True for the rest of an iteration that was wrapped behind a comma or a colon: the next number, with its label."""
    text = unwrapped(text.strip())
    return bool(PLAIN.match(text) if before.endswith(":") else PAIR.match(text) and not RECORD.match(text))


def _pairs(text: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(labels and their numbers, labels whose values are no numbers)."""
    text = unwrapped(text)
    found = tuple((match[1], match[2]) for match in PAIR.finditer(text))
    known = {label for label, _ in found}
    return found, tuple(label for match in LABEL.finditer(text) if (label := match[1]) not in known)


def dictionary(text: str) -> dict[str, float] | None:
    """The numbers of a dictionary that TRL prints, `{'loss': 0.1, …}`; None where it is none of TRL's."""
    found = {key: value for key, said in _items(text) if (value := number(said)) is not None}
    is_trl = any(key in TRL_WORDS or key.startswith(("eval_", "rewards/", "completions/")) for key in found)
    return found if is_trl else None


def _items(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values as printed; of a dictionary inside it, only that there is one."""
    begin = text.find("{") + 1
    inside = unwrapped(text[begin : text.rfind("}")])
    for _ in range(MAX_DEPTH):
        inside, count = NESTED.subn("None", inside)
        if not count:
            break
    return ((match[1], match[2]) for match in ITEM.finditer(inside))


def closing(text: str) -> int:
    """Return the index of the brace that ends the dictionary at the start of the text; -1 if none does."""
    depth = 0
    for match in BRACE.finditer(text):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return match.start()
    return -1


def opens_dictionary(text: str) -> int:
    """Return the index at which a dictionary begins that TRL may have printed; -1 if none does."""
    match = re.search(r"""\{\s*['"]""", text)
    return match.start() if match else -1


def begins_trl(text: str) -> bool:
    """True where a text begins with a dictionary of TRL's, be it whole or not."""
    return TRL_BEGINS.match(text) is not None


def apart(text: str) -> list[str]:
    """The text, parted where one record follows another, or a progress bar, without a line end between them."""
    begins = [match.start() for match in RECORD.finditer(text)]
    cuts = [at for i, at in enumerate(begins) if at and (i or not text[at - 1].isspace())]
    pieces = [text[a:b] for a, b in pairwise((0, *cuts, len(text)))]
    return [part for piece in pieces for part in (FOLLOWING.split(piece) if "}" in piece else [piece])]


def unread(text: str) -> list[str]:
    """Keys of a TRL dictionary whose values are no numbers."""
    return [key for key, said in _items(text) if number(said) is None]


def setting(text: str, *, in_section: bool) -> tuple[str, Any] | None:
    """`  sigma (noise scale): 0.001` as (sigma, 0.001): any name in a section of settings, elsewhere the known ones."""
    match = SETTING.match(text)
    if match is None:
        return None
    name = hyperparameters.canonical(match[1])
    return (name, hyperparameters.value_of(match[2])) if in_section or name in KNOWN else None


def settings_of(text: str) -> dict[str, Any]:
    """Hyperparameters that a line names in passing: a run's name, a Namespace, Slurm's array line, where it saves."""
    found: dict[str, Any] = {}
    if match := (NAMESPACE.search(text) or ARRAY.match(text)):
        found = {hyperparameters.canonical(m[1]): hyperparameters.value_of(m[2]) for m in KEYWORD.finditer(match[1])}
    elif match := (RUN_NAME.search(text) or SAVED_AS.search(text)):
        found = hyperparameters.of_name(match[1])
    elif match := MODEL.search(text):
        found = {"model": match[1]}
    return found


def began(text: str) -> float | None:
    """A moment that a line names, in Unix seconds, taken as UTC: logs hardly ever say in which zone they are."""
    match = STARTED.search(text)
    if match is None:
        return None
    said = f"{match[1]}{match[2]}" if match[1] else f"{match[3]}{match[4]}"
    try:
        return datetime.strptime(re.sub(r"\D", "", said), "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
