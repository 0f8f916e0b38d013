"""Back ends of ES, and the settings of those that answer in programs of their own: vLLM's engines and adapter
servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from workers.config.fields import Bounds, Resource, Shape

BackEnd = Literal["native", "transformers", "vllm", "adapter_server"]
SERVER = Shape(
    r"https?://[^\s/?#@]+(/[^\s?#]*)?|[A-Za-z0-9][\w.-]{0,99}",
    "the name of a registered vLLM or SGLang server, or an address such as http://node7:8000",
)


@dataclass(frozen=True)
class VllmConfig:
    """Engines of es.backend vllm."""

    tensor_parallel: Annotated[int, Bounds(at_least=1, at_most=64)] = 1
    """GPUs that share the weights of one engine."""
    kv_cache_gb: Annotated[float, Bounds(at_least=0, at_most=10_000)] = 0.0
    """Memory of the keys and values of each engine, in GB per GPU; 0 means what the GPU leaves, and at most what all
    prompts need together."""
    mps: Literal["auto", "off"] = "auto"
    """auto: engines that share a GPU run by CUDA's Multi-Process Service, which the run starts and ends, if the machine
    has it. off: the GPU serves one engine at a time."""
    master: Literal["auto", "gpu", "host"] = "auto"
    """Place of each engine's float32 master. host: the machine's memory, from which each member is read. auto: the
    GPU, or the host if the GPU is too small."""


@dataclass(frozen=True)
class AdapterServerConfig:
    """The vLLM or SGLang server of es.backend adapter_server. It holds the base model of model.path."""

    server: Annotated[str, SERVER, Resource("adapter_server")]
    """Address of the server, or the name of a registered service of the kind."""
    kind: Literal["vllm", "sglang"] = "vllm"
    """Program of the server."""
    model: str = ""
    """Name of the base model at a vLLM server; empty means the first that it lists. SGLang serves one model."""
    at_once: Annotated[int, Bounds(at_least=1, at_most=1024)] = 8
    """Adapters that are loaded and answer at the same time: at most --max-loras of vLLM, or --max-loras-per-batch of
    SGLang."""
    timeout_seconds: Annotated[float, Bounds(above=0, at_most=86_400)] = 600.0
    """Time limit of one request, in seconds: a request holds all prompts of a member."""
    wait_seconds: Annotated[float, Bounds(at_least=0, at_most=31_622_400)] = 3600.0
    """Maximum wait for a server that fails, in seconds; afterwards the run saves and fails, and can be resumed."""
    folder: Annotated[str, Resource("by_hand")] = ""
    """Folder for the adapters, which this program writes and the server reads; empty means one in the attempt's
    directory."""
    token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token (--api-key) of the server. A registered service names its token file itself."""
    site: Annotated[str, Resource("by_hand")] = ""
    """Base URL of the esweb that knows registered services by name."""
    site_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with a token of scope read for that esweb."""

    @property
    def is_registered(self) -> bool:
        """Return whether the server is to be looked up by its name."""
        return not self.server.startswith(("http://", "https://"))
