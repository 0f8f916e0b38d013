"""A model's name -> a score model, ready to be asked. torch is imported only where a checkpoint is wanted."""

from __future__ import annotations

import json
from pathlib import Path

from workers.scorer.models.base import BadModel, ScoreModel, Wanted
from workers.scorer.models.tiny import TinyModel

CHOICES = (
    "give tiny, or a folder or a name on the Hugging Face hub of a checkpoint whose architecture ends in ForScore"
    " (Safe-RLHF) or ForSequenceClassification"
)


def load(wanted: Wanted) -> ScoreModel:
    """Raises BadModel where there is no such model, or it is none that scores."""
    if wanted.name == "tiny":
        return TinyModel(wanted.role)
    from workers.config import ConfigError
    from workers.models import resolve
    from workers.models.folder import check
    from workers.scorer.models.classifier import Classifier
    from workers.scorer.models.safe_rlhf import SafeRlhf

    try:
        folder = resolve(wanted.name)
        check(folder)
    except ConfigError as error:
        raise BadModel(f"the {wanted.role} model: {error}; {CHOICES}") from error
    kind = _architecture(folder)
    if kind.endswith("ForScore"):
        return SafeRlhf(folder, wanted)
    if kind.endswith("ForSequenceClassification"):
        return Classifier(folder, wanted)
    raise BadModel(f"the {wanted.role} model {wanted.name} gives no scores: it is {kind or 'of no kind'}; {CHOICES}")


def _architecture(folder: Path) -> str:
    named = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures")
    return str(named[0]) if isinstance(named, list) and named else ""
