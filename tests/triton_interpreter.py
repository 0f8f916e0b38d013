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
        _set_overflow_checks(monkeypatch, False)
        _shrink_steps(monkeypatch)
    return torch.device("cuda" if HAS_GPU else "cpu")


@pytest.fixture
def overflow_checks(kernel_device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the interpreter refuse sums and products of integers that are too large: a test has large positions."""
    if not HAS_GPU:
        _set_overflow_checks(monkeypatch, True)


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

    init_checked, numpy_type = core.block_type.__init__, interpreter._get_np_dtype
    of_types: dict[Any, tuple[Any, int, str]] = {}
    of_tensors: dict[Any, dict[str, Any]] = {}
    numpy_types: dict[str, Any] = {}

    def init_type(block_type: Any, element_ty: Any, shape: Any) -> None:
        sizes = tuple(size.value if isinstance(size, core.constexpr) else size for size in shape)
        if sizes not in of_types:
            init_checked(block_type, element_ty, shape)
            of_types[sizes] = (block_type.shape, block_type.numel, str(block_type.shape))
        block_type.element_ty = element_ty
        block_type.shape, block_type.numel, text = of_types[sizes]
        block_type.name = f"<{text}, {element_ty}>"

    def init_tensor(tensor: Any, handle: Any, type: Any) -> None:
        sizes = tuple(type.shape.values) if type.is_block() else ()
        if sizes not in of_tensors:
            shape = core.tuple([core.constexpr(size) for size in sizes])
            of_tensors[sizes] = {"numel": core.constexpr(math.prod(sizes)), "shape": shape}
        vars(tensor).update(of_tensors[sizes], handle=handle, type=type, dtype=type.scalar)

    def get_numpy_type(type: Any) -> Any:
        scalar = type.scalar
        if scalar.name not in numpy_types:
            numpy_types[scalar.name] = numpy_type(scalar)
        return numpy_types[scalar.name]

    def equal(shape: Any, other: Any) -> Any:
        return core.constexpr(shape.values == (other.values if isinstance(other, core.tuple) else list(other)))

    monkeypatch.setattr(core.block_type, "__init__", init_type)
    monkeypatch.setattr(core.tuple, "__eq__", equal)
    monkeypatch.setattr(core.tensor, "__init__", init_tensor)
    monkeypatch.setattr(interpreter, "_get_np_dtype", get_numpy_type)


def _set_overflow_checks(monkeypatch: pytest.MonkeyPatch, are_made: bool) -> None:
    """Let the interpreter check each sum and product of integers for an overflow, which takes a sixth of its time."""
    from triton.runtime import interpreter

    options = interpreter.InterpreterOptions(sanitize_overflow=are_made)
    monkeypatch.setattr(interpreter.interpreter_builder, "options", options)


def _shrink_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow steps of four rows, also in evaluations, and divide a vocabulary of 512 into two full spans and an empty
    one.

    Unused rows and empty spans take as long as others. There would be steps of 16 rows, half a span and 15 empty ones.
    """
    from workers.models.decoder.gpu import captured, decoder, step

    monkeypatch.setattr(decoder, "ROWS", 4)
    monkeypatch.setattr(decoder, "READ_ROWS", 8)
    monkeypatch.setattr(captured, "SMALLEST", 4)
    monkeypatch.setattr(step, "SPANS", 3)
    monkeypatch.setattr(step, "SPAN_BLOCK", 256)
