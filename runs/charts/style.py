"""Style of charts. Colours are names of tokens that the page paints for its theme, so one figure serves both themes.

ES and GRPO have one pair everywhere, from the colour-blind-safe set of Okabe and Ito: orange and blue. The second
signal is the marker (round, square) and the dash; presets of one method differ in dash and in filling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LIGHT = {
    "es": "#c04f00",
    "grpo": "#0067a3",
    "other": "#5f6b7a",
    "muted": "#9aa3af",
    "cyan": "#086b74",
    "accent": "#4a41a8",
    "warn": "#7a5600",
    "ink": "#18202c",
}
DASHES = {"es": ("solid", "dot", "longdash", "longdashdot"), "grpo": ("dash", "dashdot", "longdash", "longdashdot")}
MARKERS = {"es": "circle", "grpo": "square"}
STROKES = {
    "solid": "none",
    "dot": "2 3",
    "dash": "8 5",
    "longdash": "13 5",
    "dashdot": "8 3 2 3",
    "longdashdot": "13 3 2 3",
}
METHODS = {"es": "ES", "grpo": "GRPO"}

LAYOUT: dict[str, Any] = {
    "autosize": True,
    "showlegend": False,
    "hovermode": "x unified",
    "uirevision": "kept",
    "margin": {"l": 56, "r": 14, "t": 10, "b": 42},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
}


LOG = {"type": "log", "exponentformat": "power", "dtick": 1}


def colour(method: str) -> str:
    """Return the token of a method's colour."""
    return method if method in METHODS else "other"


def dash(method: str, variant: int) -> str:
    """Return the dash of a method's `variant`-th preset."""
    dashes = DASHES.get(method, DASHES["es"])
    return dashes[variant % len(dashes)]


def marker(method: str, variant: int) -> str:
    """Return the marker of a method's `variant`-th preset: filled for the first, open for the others."""
    return MARKERS.get(method, "diamond") + ("-open" if variant else "")


def paint(token: str, alpha: float = 1.0) -> str:
    """Return the colour of a token in the light theme, for readers that cannot resolve tokens."""
    red, green, blue = (int(LIGHT[token][i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def axis(title: str, **more: Any) -> dict[str, Any]:
    """Return an axis with its title."""
    return {
        "title": {"text": title, "standoff": 8},
        "zeroline": False,
        "automargin": True,
        "exponentformat": "e",
        **more,
    }


def layout(x_title: str, y_title: str, *, log_y: bool = False, **more: Any) -> dict[str, Any]:
    """Return the layout that all charts share."""
    return {
        **LAYOUT,
        "xaxis": axis(x_title, exponentformat="SI"),
        "yaxis": axis(y_title, **(LOG if log_y else {})),
        **more,
    }


def room(values: NDArray[np.float64], is_share: bool = False) -> dict[str, Any]:
    """Return a y range for a constant value, for which Plotly's own would be −1 to 1 even around 1e-4. A share is at
    most 1; a line at the edge gets a margin. Return an empty dict for other values."""
    if len(values) < 2 or not np.isfinite(values).all() or np.ptp(values) > 0:
        return {}
    value = float(values[0])
    if is_share and 0 <= value <= 1:
        return {"range": [-0.03, 1.03]}
    return {"range": sorted((value * 0.5, value * 1.5)) if value else [-0.1, 1]}


def without_nonpositive(trace: dict[str, Any], axis: str) -> dict[str, Any]:
    """Return the trace for a logarithmic axis: values without a logarithm become gaps."""
    return {**trace, axis: [v if v is not None and v > 0 else None for v in trace[axis]]}
