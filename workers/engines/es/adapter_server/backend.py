"""The back end whose members are LoRA adapters on a vLLM or SGLang server.

This process holds the model too: it is engine 0, which keeps the float32 master of A and B, saves checkpoints and
computes KL. A member is sent as cast(master + σ s ε), like the members of the native back end. The server must see the
folder of the adapters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from torch import Tensor

from workers.config import AdapterServerConfig, ConfigError, EsConfig, Problem
from workers.engines.context import Context
from workers.engines.es.adapter_server.adapter_queue import AdapterQueue, Save, Wait
from workers.engines.es.adapter_server.comparison import ServerComparison, ServerDiffers
from workers.engines.es.adapter_server.connection import Connection
from workers.engines.es.adapter_server.decoder import ServerDecoder
from workers.engines.es.adapter_server.folder import AdapterFolder, run_name
from workers.engines.es.adapter_server.lookup import find_address
from workers.engines.es.adapter_server.protocol import AdapterServer, Ids, Sampling
from workers.engines.es.adapter_server.sglang import SglangServer
from workers.engines.es.adapter_server.vllm import VllmServer
from workers.engines.es.backend import DecoderBackEnd
from workers.engines.es.perturbation import Perturbation
from workers.engines.es.trainable import Adapter, TrainableWeights
from workers.models import Loaded
from workers.models.decoder import Completion, Measure, Prompt, unmeasured

COMPARED_PROMPTS = 4
FOLDER = "adapters"


class AdapterServerBackEnd(DecoderBackEnd):
    """A `DecoderBackEnd` whose members answer on a server. Call `connect` before the first answer."""

    def __init__(
        self, loaded: Loaded, trained: TrainableWeights, perturbation: Perturbation, es: EsConfig, rows: int
    ) -> None:
        super().__init__(loaded, trained, perturbation, es, rows)
        if es.adapter_server is None or not isinstance(trained, Adapter):
            raise TypeError("an adapter server answers runs with es.lora and es.adapter_server")
        self._config, self._adapter, self._dtype = es.adapter_server, trained, loaded.dtype
        self._sampling = Sampling(es.max_new_tokens, tuple(self._decoder.ends.tolist()))
        self._connected_queue: AdapterQueue | None = None

    def connect(self, directory: Path, wait: Wait, prompts: Sequence[Prompt]) -> float:
        """Remove what earlier attempts left on the server, and compare it with the model after some prompts.

        Return the mean difference of log-probabilities, in nats. Raise ConfigError for a server with another model or
        that ignores adapters, and AdapterServerFailed. `directory` is the attempt's.
        """
        folder = AdapterFolder(Path(self._config.folder or directory / FOLDER), run_name(directory))
        self._connected_queue = AdapterQueue(_make_server(self._config), folder, self._config, wait)
        self._connected_queue.clean()
        ids = self._decoder.tokens(prompts)
        try:
            return ServerComparison(self._connected_queue, self._adapter, self._dtype, ids).run()
        except ServerDiffers as error:
            message = f"is {self._config.server}, which {error}"
            raise ConfigError([Problem("es.adapter_server.server", message)]) from error

    @property
    def decoder(self) -> ServerDecoder:
        """Return what writes the centre's responses in an evaluation."""
        return ServerDecoder(self._decoder, self._respond_as_centre)

    def answer(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> list[list[Completion]]:
        return [of_member for some in self.answer_each(seeds, prompts) for of_member in some]

    def answer_each(self, seeds: Sequence[int], prompts: Sequence[Prompt]) -> Iterator[list[list[Completion]]]:
        ids = self._decoder.tokens(prompts)
        members = ((str(seed), partial(self._save_member, seed)) for seed in seeds)
        for tokens in self._queue.answer_each(members, self._generate(ids, self._sampling), self._measure):
            yield [self._decoder.completions(tokens)]

    def answer_centre(self, prompts: Sequence[Prompt]) -> list[Completion]:
        tokens = self._respond_as_centre(self._decoder.tokens(prompts), self._sampling, self._measure)
        return self._decoder.completions(tokens)

    @property
    def _queue(self) -> AdapterQueue:
        if self._connected_queue is None:
            raise RuntimeError("the back end is not connected to its server")
        return self._connected_queue

    def _respond_as_centre(self, ids: Ids, sampling: Sampling, measure: Measure = unmeasured) -> list[list[int]]:
        save = self._saver(self._adapter.master)
        return self._queue.answer("centre", save, self._generate(ids, sampling), measure)

    def _generate(self, ids: Ids, sampling: Sampling) -> Callable[[str], list[list[int]]]:
        return lambda name: self._queue.server.generate(name, ids, sampling)

    def _save_member(self, seed: int, folder: Path) -> None:
        with self._measure("noise"):
            tensor = self.perturbation.member(seed, self._adapter.master)
            self._saver({name: tensor(name) for name in self._adapter.master})(folder)

    def _saver(self, tensors: Mapping[str, Tensor]) -> Save:
        """Return a function that writes the tensors into a new folder, in the precision of the model."""
        return lambda folder: self._adapter.save_adapter(
            folder, {name: tensor.to(self._dtype).contiguous() for name, tensor in tensors.items()}
        )


def connect_server(context: Context, backend: DecoderBackEnd) -> None:
    """Connect a back end of an adapter server, and print how far the server is from the model. Raise as `connect`."""
    if not isinstance(backend, AdapterServerBackEnd):
        return
    examples = context.task.examples("train")[:COMPARED_PROMPTS]
    prompts = [context.prompts.ids(example.messages) for example in examples]
    with context.stop.interruptible():
        difference = backend.connect(context.directory, context.wait, prompts)
    print(f"mean difference of the adapter server's log-probabilities: {difference:.1e} nats", flush=True)


def _make_server(config: AdapterServerConfig) -> AdapterServer:
    connection = Connection(partial(find_address, config), config.timeout_seconds)
    return VllmServer(connection, config.model) if config.kind == "vllm" else SglangServer(connection)
