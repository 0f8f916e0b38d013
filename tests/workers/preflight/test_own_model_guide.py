"""The table of memory in the guide "Your own model" is what the plan computes."""

from __future__ import annotations

import re
from typing import Any

from tests.cases import each_case
from tests.workers.attempts import PROJECT
from tests.workers.memory_plan.sizes import LLAMA3_8B, QWEN2_1_5B, QWEN2_7B, QWEN3_4B
from workers.config import RunConfig
from workers.preflight.memory import CARDS_GB, plan_card, read_sizes

GUIDE = PROJECT / "docs" / "guides" / "own-model.md"
QWEN2_HALF = QWEN2_1_5B | {
    "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
}  # fmt: skip
QWEN2_14B = QWEN2_7B | {
    "hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 48, "num_attention_heads": 40,
    "num_key_value_heads": 8,
}  # fmt: skip
QWEN2_32B = QWEN2_14B | {"intermediate_size": 27648, "num_hidden_layers": 64}
MODELS = {
    "Qwen2.5-0.5B": QWEN2_HALF, "Qwen2.5-1.5B": QWEN2_1_5B, "Qwen3-4B": QWEN3_4B, "Qwen2.5-7B": QWEN2_7B,
    "Llama-3.1-8B": LLAMA3_8B, "Qwen2.5-14B": QWEN2_14B, "Qwen2.5-32B": QWEN2_32B,
}  # fmt: skip
KINDS: dict[str, dict[str, Any]] = {"full": {}, "low_rank": {"noise": "low_rank"}, "lora": {"lora": {}}}


def cell(model: dict[str, Any], es: dict[str, Any]) -> str:
    """Return the least memory that a run needs, and the smallest usual card that holds it."""
    settings = {"prompts": 200, "max_new_tokens": 512, **es}
    config = RunConfig.from_json({"method": "es", "es": settings, "compute": {"gpus": 1}})
    sizes = read_sizes(model, config)
    least = plan_card(sizes, config, 1).needed_gb
    card = next((f"{gb} GB" for gb in CARDS_GB if plan_card(sizes, config, gb).fits), "none")
    return f"{least:.0f} GB: {card}"


@each_case("name", MODELS)
def test_table_of_guide_is_what_is_planned(name: str) -> None:
    [row] = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)

    assert [text.strip() for text in row.split("|")] == [cell(MODELS[name], es) for es in KINDS.values()]
