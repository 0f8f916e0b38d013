"""Parse single lines of training logs: settings, iterations, progress, answers, the end."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from runs.importing import hyperparameters
from runs.importing.numbers import BARE, PLAIN, unwrap_numbers

# Every pattern takes time linear in its text: a repetition is possessive (`*+`) where the next part could match the
# same characters, and a label is located from the sign after it.
COUNT = r"(\d{1,3}(?:,\d{3}){1,4}(?!\d)|\d{1,15})"
"""A whole number as programs print it: commas group thousands, `1,000`."""
ITERATION = re.compile(r"\bIteration\s+" + COUNT + r"(?:\s*/\s*" + COUNT + r")?\s*[,:|]\s*+(\S.*)", re.IGNORECASE)
HELD_OUT = re.compile(
    r"\[Eval(?:uation)?\]\s*(?:Iteration|Step)\s+" + COUNT + r"(?:\s*/\s*[\d,]+)?\s*[:,]?\s*(.*)", re.IGNORECASE
)
UNIT = r"(?:s|secs?|seconds?|%|x|[KMGT]i?B|it/s|s/it|tok(?:en)?s?(?:/s)?)?"
VALUE = re.compile(
    r"(?:[:=]\s*+|(?<!\s)\s++)(" + BARE + r")" + UNIT + r"(?=[\s;|]|,(?!\d)|$)",
    re.IGNORECASE,
)
"""Match the sign or space after a label, and the number. A number with another unit, or a decimal comma, would be read
as a wrong number."""
PLAIN_LABEL = r"[A-Za-z](?:[\w/.()%-]| (?![ :=\d.+-]|nan|inf)){0,60}+"
PLAIN_PAIR = re.compile("(" + PLAIN_LABEL + r")[:=]\s*+(" + BARE + ")" + UNIT, re.IGNORECASE)
PLAIN_ROW = re.compile("(?:" + PLAIN_LABEL + r"[:=]\s*+(?:" + BARE + ")" + UNIT + "(?:, |$))++", re.IGNORECASE)
"""Match a row whose every number has a label, a sign and a comma, and no other number before it: most rows are such,
and take a third of the time of others."""
ASSIGNMENT = re.compile(r"[:=]\s*+(?=\S)")
VALUE_END = re.compile(r",\s|[;|]")
MAX_VALUE_LENGTH = 100
LABEL_END = re.compile(r"[A-Za-z][\w /.()%-]*+\Z")
MAX_LABEL_LENGTH, MAX_GAP = 61, 60
"""Maximum characters of a label, and of the space between it and its sign or number."""
Labelled = tuple[int, str, re.Match[str]]
"""(start of a label, the label, the match after it)."""
MEMORY = re.compile(r"^GPU Memory:\s*(" + BARE + r")\s*MB allocated,\s*(" + BARE + r")\s*MB peak", re.IGNORECASE)
BAR = re.compile(r"^\s*\d{1,3}%\|[^|]*\|\s*(\d{1,15})/(\d{1,15})\s*\[(?:(\d{1,15}):)?(\d{1,15}):(\d\d)<")
MAX_LINE_LENGTH, MAX_ROW_LENGTH = 8_192, 2_048
"""Maximum characters of a line, and of an iteration in it. Patterns search within a line, and must not search a line of
megabytes."""
FOLLOWING = re.compile(r"""(?<=\})(?=[^{}\n]{0,200}\{\s*['"])""")
RECORD = re.compile(
    r"\[Eval(?:uation)?\]\s*(?:Iteration|Step)\s+\d|Iteration\s+\d+(?:\s*/\s*\d+)?\s*[,:|]|GPU Memory: |"
    r"Mean fitness: |VALIDATION SCORE="
)
SETTING = re.compile(r"^\s*-{0,2}([A-Za-z_][\w.-]*(?: \([^)]*\))?)\s*[:=]\s+?(\S.*)$")
MIN_RECORD_LENGTH = len("Iteration 1,")
"""Characters of the shortest record: `GPU Memory: ` has as many, and the others have more."""
KNOWN_SETTINGS = {
    "alpha", "sigma", "beta", "seed", "population", "steps", "longest", "learning_rate", "num_generations", "model",
    "precision", "temperature", "top_p", "eval_steps", "save_steps", "algorithm",
}  # fmt: skip
SECTION = re.compile(
    r"^(?:\[((?:\w+ )*(?:Config|Settings|Dataset|Distributed|Arguments|Hyperparameters))\]|--- Arguments ---)\s*$", re.I
)
NAMESPACE = re.compile(r"\b(?:Namespace|Args|\w*Config|\w*Arguments)\(")
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
    """Numbers of an iteration: labels and values as printed. `total` is 0 if it is not stated; `unreadable` are the
    labels with texts that are not numbers."""

    step: int
    total: int
    pairs: tuple[tuple[str, str], ...]
    unreadable: tuple[tuple[str, str], ...] = ()
    is_held_out: bool = False


def parse_row(text: str) -> Row | None:
    """Parse an `Iteration i/N, …` or `[Eval] Iteration i: …` line; None if the text is not one with numbers."""
    return None if len(text) > MAX_ROW_LENGTH else _parse_short_row(text)


# A reader of a log parses each line several times in a row.
@functools.lru_cache(maxsize=8)
def _parse_short_row(text: str) -> Row | None:
    if match := HELD_OUT.search(text):
        return Row(count_of(match[1]), 0, *_pairs(match[2]), is_held_out=True)
    match = ITERATION.search(text)
    return Row(count_of(match[1]), count_of(match[2] or "0"), *_pairs(match[3])) if match else None


def count_of(text: str) -> int:
    """Return a whole number whose commas group thousands."""
    return int(text.replace(",", ""))


def continues_row(before: str, text: str) -> bool:
    """Return whether the text continues an iteration that was wrapped after a comma or a colon, with a number.

    After a comma the number must have a label.
    """
    text = unwrap_numbers(text.strip())
    if before.endswith(":"):
        return PLAIN.match(text) is not None
    first = next(_labelled(VALUE, text), None)
    return first is not None and first[0] == 0 and not RECORD.match(text)


def _pairs(text: str) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return (pairs of label and number, pairs of label and a text that is not a number)."""
    text = unwrap_numbers(text)
    if PLAIN_ROW.fullmatch(text):
        return tuple(PLAIN_PAIR.findall(text)), ()
    matches = list(_labelled(VALUE, text))
    pairs = tuple((label, match[1]) for _, label, match in matches)
    if _has_only(matches, text):
        return pairs, ()
    labels = {label for label, _ in pairs}
    others = [(label, match.end()) for _, label, match in _labelled(ASSIGNMENT, text) if label not in labels]
    unreadable = [(label, at, VALUE_END.split(text[at : at + MAX_VALUE_LENGTH], 1)[0]) for label, at in others]
    # The number within a value that is none, such as `1m 30.5s`, has no label of its own.
    inside = {place for _, at, value in unreadable for place in range(at, at + len(value))}
    pairs = tuple((label, match[1]) for begin, label, match in matches if begin not in inside)
    return pairs, tuple((label, value) for label, _, value in unreadable)


def _has_only(matches: Sequence[Labelled], text: str) -> bool:
    """Return whether each colon and equals sign is that of one of these numbers, and signs separate the numbers."""
    return len(ASSIGNMENT.findall(text)) == len(matches) and all(
        text[match.start()] in ":=" and text[match.end() : match.end() + 1] in ",;|" for _, _, match in matches
    )


def _labelled(pattern: re.Pattern[str], text: str) -> Iterator[Labelled]:
    """Yield each match with a label before it. Labels do not overlap matches."""
    end = 0
    for match in pattern.finditer(text):
        at = match.start()
        before = text[max(end, at - MAX_GAP - MAX_LABEL_LENGTH) : at]
        bare = before.rstrip()
        if label := LABEL_END.search(bare[-MAX_LABEL_LENGTH:]):
            end = match.end()
            yield at - len(before) + len(bare) - len(label[0]), label[0], match


def split_records(text: str) -> list[str]:
    """Split a text at records that follow another record, or a progress bar, without a line end between them."""
    begins = [match.start() for match in RECORD.finditer(text)] if len(text) >= MIN_RECORD_LENGTH else []
    if begins in ([], [0]) and "}" not in text:
        return [text]
    cuts = [at for i, at in enumerate(begins) if at and (i or not text[at - 1].isspace())]
    pieces = [text[a:b] for a, b in pairwise((0, *cuts, len(text)))]
    return [part for piece in pieces for part in (FOLLOWING.split(piece) if "}" in piece else [piece])]


def parse_setting(text: str, *, in_section: bool) -> tuple[str, Any] | None:
    """Parse `  sigma (noise scale): 0.001` to (sigma, 0.001); None if it is not a setting.

    Any name is accepted in a section of settings; elsewhere only those of KNOWN_SETTINGS.
    """
    match = SETTING.match(text) if ":" in text or "=" in text else None
    if match is None:
        return None
    name = hyperparameters.canonical_name(match[1])
    return (name, hyperparameters.value_of(match[2])) if in_section or name in KNOWN_SETTINGS else None


def find_settings(text: str) -> dict[str, Any]:
    """Return the hyperparameters in other lines: a run's name, a Namespace, Slurm's array line, a saved file."""
    settings: dict[str, Any] = {}
    if arguments := _arguments(text):
        settings = {
            hyperparameters.canonical_name(m[1]): hyperparameters.value_of(m[2]) for m in KEYWORD.finditer(arguments)
        }
    elif match := (("run" in text and RUN_NAME.search(text)) or ("es_random_seed" in text and SAVED_AS.search(text))):
        settings = hyperparameters.settings_from_name(match[1])
    elif match := ("Loading model" in text and MODEL.search(text)):
        settings = {"model": match[1]}
    return settings


def _arguments(text: str) -> str:
    """Return what a Namespace or a config in a line contains, or Slurm's array line; empty if it is neither."""
    bare = text.rstrip()
    if bare.endswith(")") and (match := NAMESPACE.search(bare)) and "=" in (inside := bare[match.end() : -1]):
        return inside
    array = ARRAY.match(text) if text.startswith("[") else None
    return array[1] if array else ""


def parse_start_time(text: str) -> float | None:
    """Return the time that a line states, in Unix seconds; None if there is none.

    UTC is assumed, since logs rarely state a zone.
    """
    # Most lines have neither beginning, and looking for them is faster than the expression.
    match = STARTED.search(text) if "20" in text or "run-" in text else None
    if match is None:
        return None
    digits = f"{match[1]}{match[2]}" if match[1] else f"{match[3]}{match[4]}"
    try:
        return datetime.strptime(re.sub(r"\D", "", digits), "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
