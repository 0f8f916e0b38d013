"""Bodies that are closer to valid ones than a schema can describe: records, and configs to launch."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.runs.attempt_records import NOON
from tests.runs.full_runs import a_bit_of_everything
from workers.config import RunConfig, preset
from workers.records import pack

RECORDS = [json.loads(pack(seq, NOON, record)) for seq, record in enumerate(a_bit_of_everything())]
CONFIG = RunConfig.from_json(preset("es-micro").config).to_json()

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def jsonl(draw: st.DrawFn) -> bytes:
    """Draw records as a run writes them, or with one wrong field, or random bytes."""
    count = draw(st.integers(0, len(RECORDS)))
    rows = [dict(row) for row in RECORDS[:count]]
    if rows and draw(st.booleans()):
        row = draw(st.sampled_from(rows))
        row[draw(st.sampled_from(sorted(row)))] = draw(anything)
    text = "\n".join(json.dumps(row) for row in rows).encode()
    return draw(st.just(text) | st.just(text) | st.binary(max_size=50))


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a config's difference from a preset: nothing, or a setting of a section with any value."""
    section = draw(st.sampled_from(sorted(CONFIG)))
    settings = CONFIG[section]
    if not isinstance(settings, dict):
        return draw(st.just({}) | st.fixed_dictionaries({section: anything}))
    return {section: draw(st.dictionaries(st.sampled_from(sorted(settings)), anything, max_size=2))}
