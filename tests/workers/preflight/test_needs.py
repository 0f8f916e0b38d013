"""Needs of a run on this machine: each is met or not, with a sentence and a remedy."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.free_ports import unused_port
from workers.config import RunConfig
from workers.models.folder import check as check_folder
from workers.preflight import Need, check_needs

SAFETY = {"name": "safety", "options": {}}


def needs_of(data: dict[str, Any], gpus: int | None = 0, **environment: str) -> dict[str, Need]:
    """Return name -> need of an ES run with these changes."""
    config = RunConfig.from_json({"method": "es", "es": {}, "model": {"path": "micro"}, **data})
    return {need.name: need for need in check_needs(config, gpus, environment)}


@pytest.fixture
def address() -> Iterator[str]:
    """Return the address of a server on this machine."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    """Return a folder with the files that a model must have."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name, text in {"config.json": '{"model_type": "llama"}', "tokenizer.json": "{}"}.items():
        (folder / name).write_text(text)
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    return folder


@pytest.mark.parametrize(("gpus", "state"), [(0, "missing"), (1, "missing"), (2, "ok"), (None, "unknown")])
def test_gpus_must_be_here_unless_the_run_will_be_elsewhere(gpus: int | None, state: str) -> None:
    need = needs_of({"compute": {"gpus": 2, "nodes": 3}}, gpus)["GPUs"]

    assert need.state == state and "on each of 3 nodes" in need.sentence
    assert ("compute.gpus" in need.remedy) == (state == "missing")


@pytest.mark.parametrize(("gpus", "amount"), [(0.25, "0.25 of one"), ("auto", "a part of one"), (1, "1")])
def test_share_of_a_gpu_needs_one_gpu(gpus: object, amount: str) -> None:
    need = needs_of({"compute": {"gpus": gpus}}, 2)["GPUs"]

    assert (need.state, need.sentence) == ("ok", f"This machine has 2 GPUs; the run needs {amount}.")
    assert needs_of({"compute": {"gpus": gpus}}, 0)["GPUs"].state == "missing"


def test_several_nodes_need_a_job_of_a_cluster() -> None:
    data = {"compute": {"nodes": 2}}
    assert needs_of(data)["Nodes"].state == "unknown"
    assert "2 nodes of a Slurm or Ray cluster" in needs_of(data)["Nodes"].sentence
    assert needs_of(data, SLURM_JOB_NODELIST="n[1-2]")["Nodes"].sentence.startswith("This is a job of Slurm")
    assert needs_of(data, RAY_ADDRESS="10.0.0.5:6379")["Nodes"].state == "ok"
    assert "Nodes" not in needs_of({})


def test_run_without_gpus_needs_none() -> None:
    assert "GPUs" not in needs_of({}) and "Triton" not in needs_of({})


def test_triton_is_needed_for_native_on_gpus() -> None:
    state = "ok" if find_spec("triton") else "missing"

    assert needs_of({"compute": {"gpus": 1}}, 1)["Triton"].state == state


def test_vllm_needs_its_environment(tmp_path: Path) -> None:
    data = {"es": {"backend": "vllm"}}
    absent = needs_of(data, ESWEB_VLLM_PYTHON=str(tmp_path / "python"))["vLLM's environment"]
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)

    assert absent.state == "missing" and "make setup VLLM=1" in absent.remedy
    assert needs_of(data, ESWEB_VLLM_PYTHON=str(tmp_path / "python"))["vLLM's environment"].state == "ok"


def test_grpo_needs_trl() -> None:
    state = "ok" if find_spec("trl") else "missing"

    assert needs_of({"method": "grpo", "es": None, "grpo": {}})["TRL"].state == state


def test_folder_is_a_model(model_folder: Path) -> None:
    needs = needs_of({"model": {"path": str(model_folder)}})

    assert needs["Model"].state == needs["Architecture"].state == "ok"
    assert needs["Chat template"].sentence == "Prompts are plain text: the tokenizer has no chat template."


@pytest.mark.parametrize("broken", ["config.json", "tokenizer.json", "model.safetensors", "adapter"])
def test_folder_is_refused_for_the_reason_that_the_trainer_gives(model_folder: Path, broken: str) -> None:
    if broken == "adapter":
        (model_folder / "adapter_config.json").write_text("{}")
    else:
        (model_folder / broken).unlink()
    need = needs_of({"model": {"path": str(model_folder)}})["Model"]

    assert need.state == "missing" and "save_pretrained" in need.remedy
    with pytest.raises(ValueError) as refusal:
        check_folder(model_folder)
    reason = need.sentence.partition("cannot be used: ")[2][:12]
    assert reason and reason in str(refusal.value)


def test_unknown_architecture_falls_back_to_transformers(model_folder: Path) -> None:
    (model_folder / "config.json").write_text('{"model_type": "gpt2"}')
    need = needs_of({"model": {"path": str(model_folder)}})["Architecture"]

    assert need.state == "unknown" and "gpt2: transformers answers one member after another" in need.sentence


def test_chat_style_needs_a_template(model_folder: Path) -> None:
    data = {"model": {"path": str(model_folder)}, "task": {"prompt_style": "chat"}}
    assert needs_of(data)["Chat template"].state == "missing"
    (model_folder / "chat_template.jinja").write_text("{{ messages }}")
    assert needs_of(data)["Chat template"].state == "ok"


def test_hub_model_must_be_cached_if_downloads_are_forbidden(tmp_path: Path) -> None:
    data = {"model": {"path": "Qwen/Qwen2.5-7B"}}
    online, offline = (needs_of(data, HF_HOME=str(tmp_path), HF_HUB_OFFLINE=o)["Model"] for o in ("", "1"))

    assert online.state == "unknown" and "HF_TOKEN" in online.remedy
    assert offline.state == "missing" and "copy the cache" in offline.remedy
    (tmp_path / "token").write_text("hf_secret")
    gated = needs_of(data, HF_HOME=str(tmp_path))["Model"]
    assert gated.remedy == "A token of the hub is here." and "hf_secret" not in repr(gated)


@pytest.mark.parametrize("path", ["/no/such/folder", "./nothing"])
def test_path_that_does_not_exist_is_missing(path: str) -> None:
    need = needs_of({"model": {"path": path}})["Model"]

    assert need.state == "missing" and "tiny or micro" in need.remedy


def test_data_files_must_exist(tmp_path: Path) -> None:
    data = {"task": {"name": "countdown", "options": {"train_file": str(tmp_path / "train.json")}}}
    assert needs_of(data)["Data"].state == "missing"
    (tmp_path / "train.json").write_text("[]")
    assert needs_of(data)["Data"].state == "ok"


def test_scorer_at_an_address_must_accept_connections(address: str) -> None:
    def scorer(where: str) -> Need:
        return needs_of({"task": {"name": "safety", "options": {"scorer": where}}})["Scorer"]

    assert scorer(address).state == "ok"
    away = scorer(f"http://127.0.0.1:{unused_port()}")
    assert away.state == "missing" and "task.options.scorer" in away.remedy


def test_registered_scorer_is_looked_up_on_its_site(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-token")
    options = {"scorer": "beaver", "scorer_site": f"http://127.0.0.1:{unused_port()}",
               "scorer_site_token_file": str(tmp_path / "token")}  # fmt: skip
    need = needs_of({"task": {"name": "safety", "options": options}})["Scorer"]

    assert need.state == "missing" and "cannot be looked up" in need.sentence and "a-token" not in repr(need)
    by_name = needs_of({"task": {"name": "safety", "options": {"scorer": "beaver"}}})["Scorer"]
    assert by_name.state == "unknown"


def test_embedded_scorer_needs_nothing() -> None:
    assert "Scorer" not in needs_of({"task": SAFETY})


def test_adapter_server_must_accept_connections(address: str) -> None:
    es = {"backend": "adapter_server", "lora": {}, "adapter_server": {"server": address}}

    assert needs_of({"es": es})["Adapter server"].state == "ok"
