"""Style of charts. Colours are names of tokens that the page paints for its theme, so one figure serves both themes.

ES and GRPO have one pair of hues everywhere, from the colour-blind-safe set of Okabe and Ito: orange and blue. Groups
of one method differ in lightness, dash and marker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LIGHT = {
    "es": "#c04f00",
    "es-2": "#7a3000",
    "es-3": "#d9701f",
    "grpo": "#0067a3",
    "grpo-2": "#00395c",
    "grpo-3": "#2f8ec9",
    "other": "#5f6b7a",
    "other-2": "#343d49",
    "other-3": "#7c8696",
    "muted": "#9aa3af",
    "cyan": "#086b74",
    "accent": "#4a41a8",
    "warn": "#7a5600",
    "ink": "#18202c",
}
DASHES = {
    "es": ("solid", "dot", "longdash", "longdashdot"),
    "grpo": ("dash", "dashdot", "solid", "longdashdot"),
    "other": ("solid", "dash", "dot", "dashdot"),
}
MARKERS = {
    "es": ("circle", "circle-open", "triangle-up", "triangle-up-open", "diamond"),
    "grpo": ("square", "square-open", "cross", "cross-open", "diamond-open"),
    "other": ("diamond", "diamond-open", "circle", "square", "cross"),
}
LIGHTNESSES = ("", "-2", "-3")
"""Suffixes of a method's tokens. Numbers of lightnesses, dashes and markers have no common factor: 60 looks differ."""
STROKES = {
    "solid": "none",
    "dot": "2 3",
    "dash": "8 5",
    "longdash": "13 5",
    "dashdot": "8 3 2 3",
    "longdashdot": "13 3 2 3",
}

LAYOUT: dict[str, Any] = {
    "autosize": True,
    "showlegend": False,
    "hovermode": "x",
    # Select the nearest point at any distance: a shared cursor of another chart seldom falls on a point of this one.
    "hoverdistance": -1,
    "uirevision": "kept",
    "margin": {"l": 56, "r": 14, "t": 10, "b": 42},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
}


LOG = {"type": "log", "exponentformat": "power", "dtick": 1}


def colour(method: str, variant: int = 0) -> str:
    """Return the token of the colour of a method's `variant`-th group."""
    return _known(method) + LIGHTNESSES[variant % len(LIGHTNESSES)]


def dash(method: str, variant: int) -> str:
    """Return the dash of a method's `variant`-th group."""
    dashes = DASHES[_known(method)]
    return dashes[variant % len(dashes)]


def marker(method: str, variant: int) -> str:
    """Return the marker of a method's `variant`-th group."""
    markers = MARKERS[_known(method)]
    return markers[variant % len(markers)]


def _known(method: str) -> str:
    return method if method in DASHES else "other"


def paint(colour: str, alpha: float = 1.0) -> str:
    """Return a token's colour in the light theme, for readers that cannot resolve tokens; or of a colour `#rrggbb`."""
    text = LIGHT.get(colour, colour)
    red, green, blue = (int(text[i : i + 2], 16) for i in (1, 3, 5))
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


def layout(
    x_title: str, y_title: str, *, log_x: bool = False, log_y: bool = False, meta: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the layout that all charts share. meta: `x`, the axis, by which charts of a page move together; `readout`
    and `format` (number or share), if the page reads values out at the pointer."""
    return {
        **LAYOUT,
        "meta": meta,
        "xaxis": axis(x_title, exponentformat="SI", **({"type": "log"} if log_x else {})),
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


def readout(x: str, is_share: bool, *, thinned: bool = False) -> dict[str, Any]:
    """Return the `meta` of a figure of which the page reads values out."""
    return {"x": x, "thinned": thinned, "readout": True, "format": "share" if is_share else "number"}


def without_nonpositive(trace: dict[str, Any], axis: str) -> dict[str, Any]:
    """Return the trace for a logarithmic axis: values without a logarithm become gaps."""
    return {**trace, axis: [v if v is not None and v > 0 else None for v in trace[axis]]}
