"""The modules of the code that compute intervals, as their imports and calls tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("workers", "runs", "judging")
PRIMITIVES = frozenset(
    {
        "t_quantile", "mean_interval", "prediction_interval", "t_factors", "wilson", "wilson_interval", "estimate",
        "share_interval", "rise_interval", "estimate_statistic", "expanded_tail", "NormalDist",
    }
)  # fmt: skip
"""Functions of which intervals are made. A module that imports or defines one computes an interval."""
NORMAL = "Z"
"""Constant that is the normal quantile of a 95 % interval."""
CALLS = frozenset({"quantile", "nanquantile", "percentile", "nanpercentile", "ppf", "isf"})
"""Methods whose results are the ends of intervals too."""
DEFINITIONS = frozenset(
    {"workers.analysis.student_t", "workers.analysis.share_interval", "workers.analysis.exact_tests"}
)
"""Modules of primitives alone: their users are listed."""


def interval_modules() -> set[str]:
    """Return the names of all modules that compute an interval."""
    return {name for package in PACKAGES for name in _of_package(package)} - DEFINITIONS


def _of_package(package: str) -> Iterator[str]:
    for path in sorted((ROOT / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in PRIMITIVES | CALLS | {NORMAL}) and computes_intervals(text):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def computes_intervals(text: str) -> bool:
    """Return whether a module defines or calls a primitive, and does not only import it to export it."""
    return any(_is_primitive(node) for node in ast.walk(ast.parse(text)))


def _is_primitive(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return node.id == NORMAL and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.FunctionDef):
        return node.name in PRIMITIVES - {"estimate"}
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in PRIMITIVES
    return isinstance(node.func, ast.Attribute) and node.func.attr in CALLS
