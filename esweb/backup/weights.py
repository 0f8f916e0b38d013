"""The checkpoints that a backup leaves out: those that replay logs rebuild, or all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from workers.attempt import RUN_CONFIG, read_json
from workers.checkpoint_folders import ATTEMPT, CHECKPOINTS, STEP, is_logged, logged_weights
from workers.config.resources import BUILT_IN_MODELS

Weights = Literal["all", "needed", "none"]
"""Weights to pack. needed: those that no replay log rebuilds."""
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
GB = 10**9


@dataclass(frozen=True)
class LeftOut:
    """A checkpoint's folder that the archive lacks, by its name in the archive, and its bytes."""

    name: str
    bytes: int
    can_be_rebuilt: bool


def left_out(
    runs: Path, jobs: Mapping[str, Sequence[str]], imported: Collection[str], weights: Weights
) -> Iterator[LeftOut]:
    """Yield the checkpoints of these jobs, by the uid of their run, that are not to be packed.

    Those of imported attempts are rebuilt by no site. Those of runs on a model that esweb makes itself are packed too:
    another machine may make it with other bits, and they are small.
    """
    for uid, keys in sorted(jobs.items()) if weights != "all" else ():
        numbered = sorted((int(match[2]), key) for key in keys if (match := ATTEMPT.fullmatch(key)))
        attempts = [runs / uid / key for _, key in numbered if key not in imported]
        logged = {} if any(map(_has_built_in_model, attempts)) else logged_weights(attempts)
        for key in sorted(keys):
            is_attempt = bool(ATTEMPT.fullmatch(key))
            parent = runs / uid / key / CHECKPOINTS if is_attempt else runs / uid / key
            for folder in sorted(parent.glob("step-*")):
                can_be_rebuilt = is_logged(folder, logged) if is_attempt and key not in imported else not is_attempt
                if STEP.fullmatch(folder.name) and folder.is_dir() and (can_be_rebuilt or weights == "none"):
                    yield LeftOut(f"runs/{folder.relative_to(runs).as_posix()}", _size(folder), can_be_rebuilt)


def describe_left_out(folders: Sequence[LeftOut]) -> Iterator[str]:
    """Yield a sentence for each kind of checkpoint that an archive lacks, with how it comes back."""
    if rebuildable := [folder for folder in folders if folder.can_be_rebuilt]:
        yield (
            f"{_count(rebuildable)} that replay logs rebuild: left out of the archive (--weights all packs them). A "
            "run's page, an evaluation, a probe or a resume rebuilds them bit for bit; the base models must be where "
            "they were."
        )
    if lost := [folder for folder in folders if not folder.can_be_rebuilt]:
        yield (
            f"{_count(lost)} that nothing rebuilds: left out of the archive (--weights needed packs them). Their "
            "runs keep records and responses."
        )


def _has_built_in_model(attempt: Path) -> bool:
    model = (read_json(attempt / RUN_CONFIG) or {}).get("model")
    return isinstance(model, dict) and model.get("path") in BUILT_IN_MODELS


def _count(folders: Sequence[LeftOut]) -> str:
    number, size = len(folders), sum(folder.bytes for folder in folders)
    return f"{number} checkpoint{'s' if number != 1 else ''} ({size / GB:.3g} GB)"


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
