"""GPU kernels in tests: on a machine without an NVIDIA GPU, Triton's interpreter runs them on the CPU.

A plugin, because Triton reads the variable when it is imported, which transformers may do before any test.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

HAS_GPU = Path("/dev/nvidiactl").exists()
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"
_PATCHED: set[Any] = set()
"""Functions that have patched the language of Triton."""


@pytest.fixture
def kernel_device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the torch device on which kernels run: a GPU, or the CPU with the interpreter. Skip if they cannot run."""
    import torch

    if not find_spec("triton"):
        pytest.skip("triton is not installed; it comes with torch for GPUs, and on Linux with `make setup`")
    if HAS_GPU and not torch.cuda.is_available():
        pytest.skip("this torch cannot use the machine's GPU")
    if not HAS_GPU:
        _make_loops_countable(monkeypatch)
        _patch_language_once(monkeypatch)
        _fill_spans(monkeypatch)
    return torch.device("cuda" if HAS_GPU else "cpu")


def _make_loops_countable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interpreter count loops: it makes an int of an array of one number, which numpy 2.4 refuses."""
    from triton.runtime import interpreter

    patch_tensor = interpreter._patch_lang_tensor

    def patch(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patch)


def _patch_language_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a function that kernels call patch the language at its first call only.

    The interpreter never undoes this patch, and searching again for members to patch takes a quarter of a test's time.
    """
    from triton.runtime import interpreter

    patch_and_call = interpreter.InterpretedFunction.__call__

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        if function.fn in _PATCHED:
            return function.rewrite()(*args, **kwargs)
        _PATCHED.add(function.fn)
        return patch_and_call(function, *args, **kwargs)

    monkeypatch.setattr(interpreter.InterpretedFunction, "__call__", call)


def _fill_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide a vocabulary of 512 into two full spans and an empty one, not into half a span and 15 empty ones.

    Empty spans take as long as full ones.
    """
    from workers.models.decoder.gpu import step

    monkeypatch.setattr(step, "SPANS", 3)
    monkeypatch.setattr(step, "SPAN_BLOCK", 256)
