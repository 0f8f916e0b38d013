"""Whether a machine has a run's model, who can answer with it, and how its prompts are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from workers.checkpoint_folders import is_address, root_of
from workers.config import ConfigError, RunConfig
from workers.config.resources import BUILT_IN_MODELS, HUB_NAME, RUN_CHECKPOINT, RUN_REFERENCE, locate
from workers.preflight.model_files import (
    NATIVE_MODEL_TYPES,
    ModelUnreadable,
    find_cached_model,
    find_problem,
    has_chat_template,
    hub_cache,
    read_model_files,
)
from workers.preflight.need import MISSING, OK, UNKNOWN, Need

FULL_FOLDER = "A model's folder contains config.json, *.safetensors and a tokenizer, as save_pretrained writes them."


def model_needs(config: RunConfig, environment: Mapping[str, str] = os.environ) -> Iterator[Need]:
    """Yield whether this machine has the run's model, and how its prompts will be written."""
    if not config.reads_model:
        return
    name = config.model.path
    folder = model_folder(config, environment)
    if folder is None:
        yield _absent_model(name, environment)
        return
    if (problem := find_problem(folder)) and folder == find_cached_model(name, environment=environment):
        # The cache may hold the settings of a model without its weights; the run downloads the rest.
        yield _absent_model(name, environment)
        return
    if problem:
        yield Need("Model", MISSING, f"{folder} cannot be used: {problem}.", FULL_FOLDER)
        return
    yield Need("Model", OK, f"{name} is in {folder}.")
    yield from _architecture_need(config, folder)
    yield _template_need(config, folder)


def model_folder(config: RunConfig, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of the run's model on this machine, or None. Raise ConfigError for a name that a site's run may
    not have."""
    name = config.model.path
    if name in BUILT_IN_MODELS:
        return find_cached_model(name)
    try:
        located = locate(config, environment).model.path
    except ConfigError:
        return None
    if located and Path(located).is_dir():
        return Path(located)
    return find_cached_model(name, environment=environment)


def _absent_model(name: str, environment: Mapping[str, str]) -> Need:
    if name in BUILT_IN_MODELS:
        return Need("Model", OK, f"The first run makes the {name} model, once.")
    address = Path(environment.get(RUN_CHECKPOINT, "") if RUN_REFERENCE.fullmatch(name) else name)
    if is_address(address) and root_of(address).is_dir():
        return Need("Model", OK, f"{name} was deleted: the run rebuilds it from the replay log of its own run.")
    if RUN_REFERENCE.fullmatch(name):
        return Need("Model", UNKNOWN, f"Only the site of the run can find {name}.", "Give the checkpoint's folder.")
    if name.startswith(("/", ".")) or not HUB_NAME.fullmatch(name):
        choices = f"Give {' or '.join(BUILT_IN_MODELS)}, the folder of a model, or its name on the Hugging Face hub."
        return Need("Model", MISSING, f"{name} is neither a folder on this machine nor a name on the hub.", choices)
    cache = hub_cache(environment)
    if _is_set(environment.get("HF_HUB_OFFLINE")) or _is_set(environment.get("TRANSFORMERS_OFFLINE")):
        remedy = "Download it where there is internet, and copy the cache; or unset HF_HUB_OFFLINE."
        sentence = f"{name} is not whole in {cache}, and HF_HUB_OFFLINE forbids downloads."
        return Need("Model", MISSING, sentence, remedy)
    has_token = bool(environment.get("HF_TOKEN")) or _token_file(environment).is_file()
    token = "A token of the hub is here." if has_token else "A gated model also needs HF_TOKEN, or hf auth login."
    return Need(
        "Model", UNKNOWN, f"{name} is not whole in {cache}: the run downloads it from the Hugging Face hub.", token
    )


def _token_file(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    return Path(environment.get("HF_TOKEN_PATH") or home / "token")


def _is_set(value: str | None) -> bool:
    return (value or "").strip().upper() in ("1", "ON", "YES", "TRUE")


def _architecture_need(config: RunConfig, folder: Path) -> Iterator[Need]:
    """Yield who answers the members of an ES run with the native decoder, or why the model cannot be read."""
    if config.es is None or config.es.backend != "native":
        return
    try:
        model = read_model_files(folder)
    except (ModelUnreadable, OSError) as error:
        yield Need("Architecture", MISSING, f"The model cannot be read: {error}.", FULL_FOLDER)
        return
    architecture = (model.architecture if model is not None else "") or "(none)"
    if architecture in NATIVE_MODEL_TYPES:
        yield Need("Architecture", OK, f"The native decoder knows {architecture}: many members answer in one batch.")
    else:
        sentence = f"The native decoder does not know {architecture}: transformers answers one member after another."
        yield Need("Architecture", UNKNOWN, sentence, "On a GPU, es.backend vllm may know it too.")


def _template_need(config: RunConfig, folder: Path) -> Need:
    style, has_template = config.task.prompt_style, has_chat_template(folder)
    if style == "chat" and not has_template:
        remedy = "Set task.prompt_style to auto or text, or add a chat_template.jinja to the model's folder."
        return Need(
            "Chat template", MISSING, "task.prompt_style is chat, but the tokenizer has no chat template.", remedy
        )
    if style != "text" and has_template:
        return Need("Chat template", OK, "The tokenizer's chat template writes the prompts.")
    reason = "task.prompt_style is text" if style == "text" else "the tokenizer has no chat template"
    return Need("Chat template", OK, f"Prompts are plain text: {reason}.")
