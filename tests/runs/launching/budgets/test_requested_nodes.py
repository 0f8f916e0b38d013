"""What a run requests, in words: cores, whole GPUs, or the share of one that was planned for an attempt."""

from __future__ import annotations

from typing import Any

from runs.launching.budgets import resources_of
from runs.models import Attempt
from tests.cases import each_case


@each_case(
    ("compute", "planned", "words", "gpus"),
    [
        ({"cores": 4}, None, "4 cores", 0),
        ({"gpus": 1, "gpu_type": "h100"}, None, "1 GPU (h100)", 1),
        ({"gpus": 4, "nodes": 2}, {"gpu_share": 1.0}, "2 nodes × 4 GPUs", 8),
        ({"gpus": 0.25, "gpu_type": "h100"}, None, "0.25 of a GPU (h100)", 0.25),
        ({"gpus": "auto"}, None, "part of a GPU (auto)", 1),
        ({"gpus": "auto"}, {}, "part of a GPU (auto)", 1),
        ({"gpus": "auto"}, {"gpu_share": 0.07, "gpu_memory_mb": 9600}, "0.07 of a GPU", 0.07),
        ({"gpus": "auto"}, {"gpu_share": 1.0, "gpu_memory_mb": 90_000}, "1 GPU", 1),
        ({"gpus": "many", "cores": 2}, None, "2 cores", 0),
        ({"gpus": 1.5, "cores": True}, None, "1 core", 0),
    ],
    ids=str,
)
def test_resources_are_described(
    compute: dict[str, Any], planned: dict[str, Any] | None, words: str, gpus: float
) -> None:
    resources = resources_of({"compute": compute}, None if planned is None else Attempt(**planned))
    assert (str(resources), resources.all_gpus) == (words, gpus)


def test_sharing_is_a_sentence_with_the_memory() -> None:
    auto = {"compute": {"gpus": "auto"}}
    shared = resources_of(auto, Attempt(gpu_share=0.07, gpu_memory_mb=9600))
    assert shared.sharing == "The run has 0.07 of a GPU, which other runs may share: at most 10.1 GB of its memory."
    quarter = resources_of({"compute": {"gpus": 0.25}})
    assert quarter.sharing == "The run has 0.25 of a GPU, which other runs may share."
    for config, attempt in ((auto, Attempt()), (auto, Attempt(gpu_share=1.0)), ({"compute": {"gpus": 2}}, Attempt())):
        assert resources_of(config, attempt).sharing == ""
