"""Heat maps of tensors: a row for each layer, a column for each kind of tensor, and tensors outside of the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from runs.charts import number
from runs.probes.deviation import Shade, deviation_shades, has_band, is_outside, shade_of_deviation, value_scale
from runs.probes.measures import ProbeMeasure
from runs.probes.selection import MAX_MAPS, ProbeSeries
from workers.analysis.tensor_names import TensorName, parse_name
from workers.records import ProbeValue

OUTSIDE_BY_CHANCE = 0.05
"""Share of values that chance puts outside of a band of 95 %."""
ByTensor = Mapping[str, ProbeValue]


@dataclass(frozen=True)
class HeatMap:
    """The tensors of one series. whole: the value of the whole model, None if it has none. banded: number of tensors
    with a band by chance, surprising: of those, the ones outside of it. table, outside: HTML of the tensors of layers,
    and of the others; empty if there are none."""

    series: ProbeSeries
    whole: ProbeValue | None
    banded: int
    surprising: int
    table: SafeString
    outside: SafeString

    @property
    def expected(self) -> float:
        """Return how many tensors chance puts outside of their bands, on average."""
        return OUTSIDE_BY_CHANCE * self.banded


@dataclass(frozen=True)
class HeatMaps:
    """Heat maps of the same rows, columns and colours. left_out: number of series that are not drawn."""

    maps: list[HeatMap]
    shades: list[Shade]
    left_out: int


@dataclass(frozen=True)
class _Grid:
    """Places of tensors. kinds: those of layers, in the order of the records. cells: (layer, kind) -> name."""

    layers: list[int]
    kinds: list[str]
    cells: Mapping[tuple[int, str], str]
    outside: list[TensorName]


def heat_maps(
    results: Sequence[tuple[ProbeSeries, list[ProbeValue]]], measure: ProbeMeasure, colour: str, query: QueryDict
) -> HeatMaps:
    """Return the heat maps of the first MAX_MAPS results. colour: a key of COLOURINGS. query: the parameters of the
    page, from which the addresses of tensors are made."""
    drawn = [(series, {value.tensor: value for value in values}) for series, values in results[:MAX_MAPS]]
    grid = _grid([name for _series, values in drawn for name in values if name])
    tensors = [value for _series, values in drawn for name, value in values.items() if name]
    scale = value_scale([value.value for value in tensors])
    is_deviation = colour == "deviation"
    shades = {
        id(value): shade_of_deviation(value) if is_deviation else scale.shade(value) for value in tensors
    }  # fmt: skip
    legend = deviation_shades() if is_deviation else scale.shades()
    if all(map(has_band, tensors)):
        legend = [shade for shade in legend if shade.name != "no-band"]
    query = query.copy()
    for name in ("tensor", "as"):
        query.pop(name, None)
    address = f"?{query.urlencode()}{'&' if query else ''}tensor="
    cells = _Cells(measure, shades, address)
    maps = [_heat_map(series, values, grid, cells) for series, values in drawn]
    return HeatMaps(maps, legend, max(len(results) - MAX_MAPS, 0))


def _heat_map(series: ProbeSeries, values: ByTensor, grid: _Grid, cells: _Cells) -> HeatMap:
    banded = [value for name, value in values.items() if name and has_band(value)]
    surprising = sum(map(is_outside, banded))
    table, outside = _table(grid, values, cells), _outside(grid, values, cells)
    return HeatMap(series, values.get(""), len(banded), surprising, table, outside)


def default_colour(values: Sequence[ProbeValue]) -> str:
    """Return the distance from chance if any of the tensors has a band, else the value."""
    return "deviation" if any(value.tensor and has_band(value) for value in values) else "value"


def value_words(value: ProbeValue, measure: ProbeMeasure) -> str:
    """Return a value in words: with its own interval, what it would be by chance, and its n."""
    parts = [number(value.value)]
    if value.low is not None and value.high is not None:
        parts.append(gettext("interval %(low)s to %(high)s") % {"low": number(value.low), "high": number(value.high)})
    if value.null is not None:
        parts.append(gettext("by chance %(null)s") % {"null": number(value.null)})
    if value.null_low is not None and value.null_high is not None:
        band = {"low": number(value.null_low), "high": number(value.null_high)}
        parts.append(gettext("band by chance %(low)s to %(high)s") % band)
    parts.append(f"n = {number(value.n)} {measure.counted}")
    return ", ".join(parts)


def short_kind(kind: str) -> str:
    """Return a kind of tensor without its module: `q_proj` of `self_attn.q_proj`."""
    return kind.partition(".")[2] or kind


@dataclass(frozen=True)
class _Cells:
    """Write the HTML of cells. Thousands are on a page, and templates would take a second for them."""

    measure: ProbeMeasure
    shades: Mapping[int, str]
    address: str

    def link(self, value: ProbeValue) -> SafeString:
        """Return the link of a tensor's cell. Its title is also what is read aloud: it has no text of its own."""
        return format_html(
            '<a class="shade {}" href="{}{}#tensor" title="{}"></a>', self.shades[id(value)], self.address,
            quote(value.tensor), f"{value.tensor}: {value_words(value, self.measure)}",
        )  # fmt: skip


def _grid(names: Sequence[str]) -> _Grid:
    parsed = [parse_name(name) for name in dict.fromkeys(names)]
    cells = {(own.layer, own.kind): own.name for own in parsed if own.layer is not None}
    return _Grid(
        sorted({layer for layer, _kind in cells}), list(dict.fromkeys(kind for _layer, kind in cells)), cells,
        [own for own in parsed if own.layer is None],
    )  # fmt: skip


def _table(grid: _Grid, values: ByTensor, cells: _Cells) -> SafeString:
    if not any(name in values for name in grid.cells.values()):
        return mark_safe("")
    heads = "".join(
        format_html('<th scope="col" title="{}"><span>{}</span></th>', kind, short_kind(kind)) for kind in grid.kinds
    )
    rows = "".join(_row(grid, layer, values, cells) for layer in grid.layers)
    corner = format_html('<th scope="col"><span>{}</span></th>', gettext("layer"))
    return mark_safe(f"<thead><tr>{corner}{heads}</tr></thead><tbody>{rows}</tbody>")  # noqa: S308 (escaped)


def _row(grid: _Grid, layer: int, values: ByTensor, cells: _Cells) -> str:
    row = "".join(_cell(grid, layer, kind, values, cells) for kind in grid.kinds)
    return f'<tr><th scope="row">{layer}</th>{row}</tr>'


def _cell(grid: _Grid, layer: int, kind: str, values: ByTensor, cells: _Cells) -> str:
    value = values.get(grid.cells.get((layer, kind), ""))
    return f"<td>{cells.link(value)}</td>" if value is not None and value.tensor else "<td></td>"


def _outside(grid: _Grid, values: ByTensor, cells: _Cells) -> SafeString:
    items = [
        format_html("<li>{} {}</li>", cells.link(values[own.name]), own.kind)
        for own in grid.outside
        if own.name in values
    ]
    return mark_safe("".join(items))  # noqa: S308 (each item is escaped)
