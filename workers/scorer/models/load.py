"""Load a score model by its name. torch is imported only for a checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

from workers.scorer.models.base import BadModel, ModelOptions, ScoreModel
from workers.scorer.models.tiny import TinyModel

CHOICES = (
    "give tiny, or the folder or Hugging Face hub name of a checkpoint whose architecture ends in ForScore"
    " (Safe-RLHF) or ForSequenceClassification"
)


def load(options: ModelOptions) -> ScoreModel:
    """Return the model. Raise BadModel if there is no such model, or it gives no scores."""
    if options.name == "tiny":
        return TinyModel(options.role)
    from workers.config import ConfigError
    from workers.models import resolve
    from workers.models.folder import check
    from workers.scorer.models.classifier import Classifier
    from workers.scorer.models.safe_rlhf import SafeRlhf

    try:
        folder = resolve(options.name)
        check(folder)
    except ConfigError as error:
        raise BadModel(f"the {options.role} model: {error}; {CHOICES}") from error
    kind = _architecture(folder)
    if kind.endswith("ForScore"):
        return SafeRlhf(folder, options)
    if kind.endswith("ForSequenceClassification"):
        return Classifier(folder, options)
    raise BadModel(
        f"the {options.role} model {options.name} returns no scores: it is {kind or 'of no kind'}; {CHOICES}"
    )


def _architecture(folder: Path) -> str:
    architectures = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures")
    return str(architectures[0]) if isinstance(architectures, list) and architectures else ""
