"""Compile the kernels that a module launches for a Hopper GPU, on a machine without one.

The module has a `main` that launches them. It runs in a process of its own, without Triton's interpreter, in which
every launch is replaced by a compilation.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, type_canonicalisation_dict

HOPPER = GPUTarget("cuda", 90, 32)
PROJECT = Path(__file__).parents[1]
OPTIONS = ("num_warps", "num_stages", "enable_fp_fusion")


def compile_kernels(module: str) -> dict[str, list[str]]:
    """Return kernel name -> PTX of each of its compilations, of the kernels that the module's `main` launches.

    Raise AssertionError with the process's error output if it fails.
    """
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tests.hopper", module]
    result = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    compiled: dict[str, list[str]] = json.loads(result.stdout)
    return compiled


class Compiler:
    """A compiler of launches, which compiles each kernel once for the same types, constants and options."""

    def __init__(self) -> None:
        self.ptx: dict[str, dict[str, str]] = {}
        """Kernel name -> types, constants and options -> PTX."""

    def compile_launch(self, function: Any, *args: Any, grid: Any, warmup: bool, **keywords: Any) -> None:
        """Compile the function for the types of its arguments, instead of a launch."""
        options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
        values = dict(zip(function.arg_names, args, strict=False)) | keywords
        signature, constants, attributes = {}, {}, {}
        for index, parameter in enumerate(function.params):
            value = values[parameter.name]
            kind = "constexpr" if parameter.is_constexpr or value is None else _type_of(value)
            signature[parameter.name] = kind
            if kind == "constexpr":
                constants[(index,)] = value
            elif kind.startswith("*") or (kind in ("i32", "i64") and value % 16 == 0):
                attributes[(index,)] = [["tt.divisibility", 16]]
        compilations = self.ptx.setdefault(function.fn.__name__, {})
        key = f"{signature} {constants} {options}"
        if key not in compilations:
            source = ASTSource(function, signature, constants, attributes)
            compilations[key] = triton.compile(source, target=HOPPER, options=options).asm["ptx"]


def _type_of(value: Any) -> str:
    """Return Triton's name of an argument's type. Triton makes a constant of the number 1."""
    if torch.is_tensor(value):
        return f"*{type_canonicalisation_dict[str(value.dtype).removeprefix('torch.')]}"
    if isinstance(value, float):
        return "fp32"
    return "constexpr" if value == 1 else "i32" if abs(value) < 2**31 else "i64"


def main() -> None:
    """Compile the kernels that the module of the first argument launches, and print the PTX as JSON."""
    compiler = Compiler()
    JITFunction.run = lambda function, *args, **more: compiler.compile_launch(function, *args, **more)
    importlib.import_module(sys.argv[1]).main()
    print(json.dumps({name: list(compilations.values()) for name, compilations in compiler.ptx.items()}))


if __name__ == "__main__":
    main()
