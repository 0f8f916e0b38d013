"""GPU kernels in tests: on a machine without an NVIDIA GPU, Triton's interpreter runs them on the CPU.

A plugin, because Triton reads the variable when it is imported, which transformers may do before any test.
"""

from __future__ import annotations

import math
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
        _share_types(monkeypatch)
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


def _share_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tensors of one shape share what is derived from it, and look each type of numpy up once.

    The interpreter makes a type for each operation, which takes half of a kernel's time.
    """
    from triton.language import core
    from triton.runtime import interpreter

    check, numpy_type = core.block_type.__init__, interpreter._get_np_dtype
    block_types: dict[Any, dict[str, Any]] = {}
    shapes: dict[Any, dict[str, Any]] = {}
    numpy_types: dict[Any, Any] = {}

    def init_type(block_type: Any, element_ty: Any, shape: Any) -> None:
        # The name of a type of pointers does not say whether they are const.
        sizes = tuple(getattr(size, "value", size) for size in shape)
        key = (sizes, element_ty, getattr(element_ty, "const", None))
        if key not in block_types:
            check(block_type, element_ty, shape)
            block_types[key] = dict(vars(block_type))
        vars(block_type).update(block_types[key])

    def init_tensor(tensor: Any, handle: Any, type: Any) -> None:
        sizes = tuple(type.shape.values) if type.is_block() else ()
        if sizes not in shapes:
            numel, shape = core.constexpr(math.prod(sizes)), core.tuple([core.constexpr(size) for size in sizes])
            shapes[sizes] = {"numel": numel, "shape": shape}
        vars(tensor).update(shapes[sizes], handle=handle, type=type, dtype=type.scalar)

    def get_numpy_type(type: Any) -> Any:
        scalar = type.scalar
        if scalar not in numpy_types:
            numpy_types[scalar] = numpy_type(scalar)
        return numpy_types[scalar]

    monkeypatch.setattr(core.block_type, "__init__", init_type)
    monkeypatch.setattr(core.tensor, "__init__", init_tensor)
    monkeypatch.setattr(interpreter, "_get_np_dtype", get_numpy_type)


def _fill_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide a vocabulary of 512 into two full spans and an empty one, not into half a span and 15 empty ones.

    Empty spans take as long as full ones.
    """
    from workers.models.decoder.gpu import step

    monkeypatch.setattr(step, "SPANS", 3)
    monkeypatch.setattr(step, "SPAN_BLOCK", 256)
