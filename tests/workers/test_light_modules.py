"""The import cost of modules: light ones need neither Django nor torch.

That no part of `workers` needs Django, engines/grpo/test_processes.py and test_train_resumes.py show with trainings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

from tests.workers.attempts import ENV, PROJECT

LIGHT_PACKAGES = (
    "agent",
    "analysis",
    "attempt",
    "code",
    "config",
    "corpus",
    "engine_nodes",
    "executors",
    "memory_plan",
    "preflight",
    "records",
    "tasks",
)
LIGHT_MODULES = (
    "workers",
    "workers.check",
    "workers.engines",
    "workers.scorer.client",
    "workers.scorer.embedded",
    "workers.train",
)
NEEDS = {
    "triton": {f"workers.engines.es.{name}" for name in ("noise_cuda", "noise_kernels", "noise_launch", "philox_cuda")},
    "vllm": {f"workers.engines.es.vllm.{name}" for name in ("backend", "generation")},
    "ray": {"workers.engine_nodes.ray_actors"},
}
"""Package -> modules that need it: triton comes with a torch for GPUs, vLLM and Ray have environments of their own."""
HEAVY = {"torch", "transformers", "trl", "peft", "datasets", "accelerate", "tokenizers"}
IMPORT = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(json.dumps([*sys.modules]))
"""


def modules() -> Iterator[str]:
    """Yield the dotted name of every module of workers."""
    for file in sorted((PROJECT / "workers").rglob("*.py")):
        parts = file.relative_to(PROJECT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        is_importable = all(find_spec(package) for package, names in NEEDS.items() if name in names)
        if parts[-1] != "__main__" and is_importable:
            yield name


def packages_after(names: Iterable[str]) -> set[str]:
    """Return the top-level packages that a fresh interpreter holds after importing these modules."""
    done = subprocess.run([sys.executable, "-c", IMPORT, *names], env=ENV, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in json.loads(done.stdout)}


def test_light_packages_import_neither_django_nor_torch() -> None:
    light = [m for m in modules() if m in LIGHT_MODULES or (m + ".").split(".")[1] in LIGHT_PACKAGES]
    assert len(light) > 20

    assert not packages_after(light) & ({"django"} | HEAVY)
