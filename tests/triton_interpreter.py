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
    return torch.device("cuda" if HAS_GPU else "cpu")


def _make_loops_countable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interpreter count loops: it makes an int of an array of one number, which numpy 2.4 refuses."""
    from triton.runtime import interpreter

    patch_tensor = interpreter._patch_lang_tensor

    def patch(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    monkeypatch.setattr(interpreter, "_patch_lang_tensor", patch)
