"""Build the config of a run from the arguments of a trainer, without secrets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

SECRET = re.compile(
    r"(^|_)(token|secret|password|passwd|credential|api_?key|access_?key|private_?key)s?$", re.IGNORECASE
)
"""Names of settings whose texts are not sent. A number under such a name, such as max_tokens, is no secret."""
PUBLIC_TOKENS = frozenset({"bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"})
"""Special tokens of a tokenizer."""
PLAIN_TRAINERS = frozenset({"TrainingArguments", "Seq2SeqTrainingArguments"})
MAX_METHOD_LENGTH = 20


def config_of(args: Any, model: Any) -> dict[str, Any]:
    """Return the arguments that have a value, and the model's name, type and number of parameters under `model`."""
    config: dict[str, Any] = {
        name: value for name, value in without_secrets(args.to_dict()).items() if value is not None
    }
    described = describe_model(model)
    return {**config, "model": described} if described else config


def describe_model(model: Any) -> dict[str, Any]:
    """Return what identifies a model: `path` as it was loaded, `type`, `parameters`. Unknown values are left out."""
    model_config = getattr(model, "config", None)
    count = getattr(model, "num_parameters", None)
    described = {
        "path": getattr(model_config, "_name_or_path", None),
        "type": getattr(model_config, "model_type", None),
        "parameters": count() if callable(count) else None,
    }
    return {name: value for name, value in described.items() if value}


def without_secrets(settings: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the settings as JSON values, at any depth without those whose name says that they are secret."""
    return {
        str(name): _json_value(value)
        for name, value in settings.items()
        if not (isinstance(value, (str, bytes)) and is_secret(str(name)))
    }


def is_secret(name: str) -> bool:
    """Return whether a text under this name may be a secret: hub_token, api_key; not eos_token."""
    return name not in PUBLIC_TOKENS and SECRET.search(name) is not None


def method_of(args: Any) -> str | None:
    """Return the trainer's kind by the class of its arguments: grpo for GRPOConfig or a subclass of it, sft, dpo ….

    None if the arguments are those of the plain Trainer, which does not say how its loss is made.
    """
    for kind in type(args).__mro__:
        if kind.__module__.partition(".")[0] not in ("trl", "transformers"):
            continue
        if kind.__name__ in PLAIN_TRAINERS:
            return None
        bare = re.sub(r"(Config|TrainingArguments|Arguments)$", "", kind.__name__)
        method = re.sub(r"[^a-z0-9_-]", "", bare.lower())[:MAX_METHOD_LENGTH]
        return method or None
    return None


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
