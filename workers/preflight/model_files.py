"""The files of a model on this machine, and the shapes of its tensors: from the heads of its weights, without torch.

Weights that are missing, as on a site that has the config.json alone, are taken to have the shapes that a decoder of
the sizes in config.json has.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.config.cache import cache_folder
from workers.config.resources import BUILT_IN_MODELS, HUB_NAME
from workers.config.shallow_json import loads
from workers.memory_plan import ModelSizes

CONFIG = "config.json"
NOT_AN_OBJECT = "it is not a JSON object"
COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
MAX_CONFIG_BYTES = 1_000_000
MAX_HEAD_BYTES = 10_000_000
"""Maximum of the JSON at the start of a model's safetensors files together, which lists their tensors."""
MAX_WEIGHT_FILES = 1000
COPIED_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "tokenizer.model",
)
"""Files besides the weights that a checkpoint has too, if the model has them."""
NATIVE_MODEL_TYPES = ("qwen2", "qwen3", "llama", "mistral", "gemma2", "gemma3_text")
"""Model types that the native decoder knows; `workers.models.decoder.shape` decides."""
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model")
"""A model's folder has one of these."""
MAX_LAYERS = 10_000
MAX_DIMENSION = 10**12
Shapes = Mapping[str, tuple[int, ...]]
Accepts = Callable[[Path], bool]


class ModelUnreadable(ValueError):
    """A file of the model is invalid. `template` is the message, with `values` to fill in: a site translates it."""

    def __init__(self, template: str, **values: object) -> None:
        super().__init__(template % values)
        self.template, self.values = template, values


@dataclass(frozen=True)
class ModelFiles:
    """A model's config.json, the shapes of its tensors, and the bytes of its tokenizer and settings.

    `has_weights`: the shapes come from the weights, not from the sizes in config.json.
    """

    config: Mapping[str, Any]
    shapes: Shapes
    other_bytes: int
    has_weights: bool

    @property
    def parameters(self) -> int:
        """Return the number of all weights."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def architecture(self) -> str:
        """Return the model type that config.json states; empty without."""
        return str(self.config.get("model_type") or "")


def find_problem(folder: Path) -> str:
    """Return why the folder is no model, to complete `it cannot be used: …`; or an empty text."""
    if not (folder / "config.json").is_file():
        return "it has no config.json"
    if (folder / "adapter_config.json").exists():
        # transformers would load the base that the adapter names, which may be any folder of this machine.
        return "it contains an adapter (adapter_config.json); merge it into its base model first"
    if not any(folder.glob("*.safetensors")):
        return "it has no *.safetensors; other formats of weights are pickles, which run code"
    if not any((folder / name).exists() for name in TOKENIZER_FILES):
        return "it has no tokenizer"
    return ""


def find_cached_model(name: str, cache: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of a built-in model, or of a model of the Hugging Face hub, in this machine's caches; None
    without."""
    if name in BUILT_IN_MODELS:
        folders = ((cache or cache_folder()) / "models").glob(f"{name}-*-*/{CONFIG}")
        return max((file.parent for file in folders), key=lambda folder: folder.stat().st_mtime, default=None)
    if not HUB_NAME.fullmatch(name):
        return None
    root = hub_cache(environment) / f"models--{name.replace('/', '--')}"
    reference = root / "refs" / "main"
    if not reference.is_file():
        return None
    commit = reference.read_text(encoding="ascii", errors="replace").strip()
    snapshot = root / "snapshots" / commit
    return snapshot if COMMIT.fullmatch(commit) and snapshot.is_dir() else None


def hub_cache(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder in which huggingface_hub caches models."""
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(environment.get("HF_HUB_CACHE") or home / "hub")


def read_model_files(folder: Path, accepts: Accepts = Path.is_file) -> ModelFiles | None:
    """Read a model's folder; None without a config.json. `accepts` decides which of its files may be read.

    Raise ModelUnreadable if a file is invalid, and OSError.
    """
    if not accepts(folder / CONFIG):
        return None
    config = _read_config(folder / CONFIG)
    files = sorted(file for file in folder.glob("*.safetensors") if accepts(file))
    if len(files) > MAX_WEIGHT_FILES:
        raise ModelUnreadable("there are more than %(n)s files of weights", n=MAX_WEIGHT_FILES)
    shapes: dict[str, tuple[int, ...]] = {}
    remaining = MAX_HEAD_BYTES
    for file in files:
        tensors, length = read_shapes(file, remaining)
        shapes, remaining = shapes | tensors, remaining - length
    if config.get("tie_word_embeddings"):
        # A tied matrix is saved once, whatever this folder has.
        shapes.pop("lm_head.weight", None)
    others = sum((folder / name).stat().st_size for name in COPIED_FILES if accepts(folder / name))
    if shapes:
        return ModelFiles(config, shapes, others, has_weights=True)
    return ModelFiles(config, shapes_of_config(config), others, has_weights=False)


def read_shapes(file: Path, max_bytes: int = MAX_HEAD_BYTES) -> tuple[dict[str, tuple[int, ...]], int]:
    """Return tensor -> shape of a safetensors file, and the bytes of its head. Raise ModelUnreadable, OSError."""
    with file.open("rb") as weights:
        start = weights.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= max_bytes:
            raise ModelUnreadable("%(file)s is not a safetensors file, or lists too many tensors", file=file.name)
        head = weights.read(length)
    try:
        tensors = loads(head)
        shapes = {name: tuple(map(int, tensor["shape"])) for name, tensor in tensors.items() if name != "__metadata__"}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise ModelUnreadable("%(file)s does not list its tensors", file=file.name) from error
    if not all(0 <= number <= MAX_DIMENSION for shape in shapes.values() for number in shape):
        raise ModelUnreadable("%(file)s does not list its tensors", file=file.name)
    return shapes, length


def shapes_of_config(config: Mapping[str, Any]) -> Shapes:
    """Return tensor -> shape of a decoder of these sizes; empty if config.json does not state them."""
    try:
        sizes = ModelSizes.from_config(config, 2)
    except (KeyError, TypeError, ValueError, OverflowError, ZeroDivisionError):
        return {}
    if not 1 <= sizes.layers <= MAX_LAYERS or max(sizes.hidden, sizes.inner, sizes.vocabulary) > MAX_DIMENSION:
        return {}
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (sizes.vocabulary, sizes.hidden)}
    for layer in range(sizes.layers):
        shapes |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in _layer(sizes).items()}
    if not sizes.is_tied:
        shapes["lm_head.weight"] = (sizes.vocabulary, sizes.hidden)
    return shapes | {"model.norm.weight": (sizes.hidden,)}


def _layer(sizes: ModelSizes) -> Shapes:
    queries, keys = sizes.heads * sizes.head_dim, sizes.kv_heads * sizes.head_dim
    return {
        "self_attn.q_proj": (queries, sizes.hidden),
        "self_attn.k_proj": (keys, sizes.hidden),
        "self_attn.v_proj": (keys, sizes.hidden),
        "self_attn.o_proj": (sizes.hidden, queries),
        "mlp.gate_proj": (sizes.inner, sizes.hidden),
        "mlp.up_proj": (sizes.inner, sizes.hidden),
        "mlp.down_proj": (sizes.hidden, sizes.inner),
        "input_layernorm": (sizes.hidden,),
        "post_attention_layernorm": (sizes.hidden,),
    }


def _read_config(file: Path) -> Mapping[str, Any]:
    with file.open("rb") as opened:
        data = opened.read(MAX_CONFIG_BYTES + 1)
    if len(data) > MAX_CONFIG_BYTES:
        raise ModelUnreadable("it is larger than %(n)s bytes", n=MAX_CONFIG_BYTES)
    try:
        config = loads(data)
    except ValueError as error:
        raise ModelUnreadable(NOT_AN_OBJECT) from error
    if not isinstance(config, dict):
        raise ModelUnreadable(NOT_AN_OBJECT)
    return config


def has_chat_template(folder: Path) -> bool:
    """Return whether the model's tokenizer has a chat template. A damaged file has none."""
    if (folder / "chat_template.jinja").is_file():
        return True
    try:
        with (folder / "tokenizer_config.json").open("rb") as file:
            settings = json.loads(file.read(MAX_HEAD_BYTES))
    except (OSError, ValueError):
        return False
    return isinstance(settings, dict) and bool(settings.get("chat_template"))
