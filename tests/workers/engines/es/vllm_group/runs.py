"""Runs with es.backend vllm whose engines decode as `decoder_engine` does."""

from __future__ import annotations

import sys

import pytest

from tests.workers.engines.es.vllm_group.decoder_engine import FAULT
from workers.engines.es.vllm_group import startup
from workers.preflight.vllm_interpreter import VLLM_PYTHON


def decode_here(monkeypatch: pytest.MonkeyPatch, fault: str = "") -> None:
    """Let engines of vLLM be processes that decode with this project's decoder."""
    monkeypatch.setenv(VLLM_PYTHON, sys.executable)
    monkeypatch.setenv(FAULT, fault)
    monkeypatch.setattr(startup, "PROGRAM", "tests.workers.engines.es.vllm_group.decoder_engine")
