"""Responses of vLLM in this process: prompts by token ids, a loop over its steps, and calls of its workers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from vllm import EngineArgs, SamplingParams
from vllm.inputs.engine import tokens_input
from vllm.sampling_params import RequestOutputKind
from vllm.usage.usage_lib import UsageContext
from vllm.v1.engine.llm_engine import LLMEngine

from workers.config import ConfigError, Problem
from workers.engines.es.engine_group.wire import Decoding, Ids
from workers.engines.es.seeds import sample_seed
from workers.engines.es.vllm.setup import VllmSetup
from workers.models.decoder import Completion

EXTENSION = "workers.engines.es.vllm.extension.WorkerExtension"
LIKELIEST_TOKENS = 20
NO_MEMORY_SHARE = 0.01
"""vLLM refuses to start unless this part of the GPU is free; `kv_cache_bytes` sets its memory, not this."""


class Generator:
    """vLLM with weights that are not set: workers write them. `ends`: tokens after which a response is over."""

    def __init__(self, folder: Path, setup: VllmSetup) -> None:
        self._ends = list(setup.ends)
        self._batches = itertools.count()
        arguments = EngineArgs(
            model=str(folder), load_format="dummy", dtype=setup.dtype, seed=0, skip_tokenizer_init=True,
            max_model_len=setup.context_tokens, max_num_seqs=setup.rows, tensor_parallel_size=setup.tensor_parallel,
            kv_cache_memory_bytes=setup.kv_cache_bytes, gpu_memory_utilization=NO_MEMORY_SHARE,
            enable_prefix_caching=False, generation_config="vllm", worker_extension_cls=EXTENSION,
            logprobs_mode="raw_logprobs", max_logprobs=LIKELIEST_TOKENS, disable_log_stats=True,
        )  # fmt: skip
        try:
            config = arguments.create_engine_config(UsageContext.LLM_CLASS)
        except ValueError as error:
            raise ConfigError([Problem("es.backend", f"cannot be vllm: vLLM refuses this model: {error}")]) from error
        if reason := _untrainable_reason(config.model_config):
            raise ConfigError([Problem("es.backend", f"cannot be vllm: {reason}; set native or transformers")])
        self._engine = LLMEngine.from_vllm_config(config, disable_log_stats=True)

    def call_workers(self, method: str, *arguments: Any) -> list[Any]:
        """Return the results of a method of `WorkerExtension` on each rank."""
        return list(self._engine.collective_rpc(method, args=arguments))

    def respond(self, prompts: Ids, decoding: Decoding, is_abandoned: Callable[[], bool]) -> list[Completion] | None:
        """Return the responses in the order of the prompts, without text; None if they are abandoned on the way."""
        outputs = self._run(prompts, [self._parameters(decoding, i) for i in range(len(prompts))], is_abandoned)
        return outputs and [self._completion(output) for output in outputs]

    def likeliest_tokens(self, prompts: Ids) -> list[dict[int, float]]:
        """Return for each prompt the likeliest next tokens with the logarithms of their probabilities."""
        parameters = self._parameters(Decoding(1), 0, logprobs=LIKELIEST_TOKENS)
        outputs = self._run(prompts, [parameters] * len(prompts), lambda: False) or []
        return [{token: entry.logprob for token, entry in output.outputs[0].logprobs[0].items()} for output in outputs]

    def _parameters(self, decoding: Decoding, index: int, logprobs: int | None = None) -> SamplingParams:
        sampled = {"temperature": decoding.temperature, "seed": sample_seed(decoding.seed, index)}
        return SamplingParams(
            **({"temperature": 0.0} if decoding.temperature is None else sampled), max_tokens=decoding.max_new_tokens,
            stop_token_ids=self._ends, ignore_eos=True, detokenize=False, logprobs=logprobs,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )  # fmt: skip

    def _run(
        self, prompts: Ids, parameters: Sequence[SamplingParams], is_abandoned: Callable[[], bool]
    ) -> list[Any] | None:
        """Return the requests' outputs in their order, or None if they are abandoned."""
        batch, outputs = next(self._batches), {}
        names = [f"{batch}-{i}" for i in range(len(prompts))]
        for name, prompt, of_prompt in zip(names, prompts, parameters, strict=True):
            self._engine.add_request(name, tokens_input(list(prompt)), of_prompt)
        while self._engine.has_unfinished_requests():
            outputs.update({output.request_id: output for output in self._engine.step() if output.finished})
            if is_abandoned() and self._engine.has_unfinished_requests():
                self._engine.abort_request([name for name in names if name not in outputs])
                return None
        return [outputs[name] for name in names]

    def _completion(self, output: Any) -> Completion:
        tokens = list(output.outputs[0].token_ids)
        return Completion(tokens, "", clipped=not tokens or tokens[-1] not in self._ends)


def _untrainable_reason(model: Any) -> str | None:
    """Return why members cannot be written into vLLM's parameters, if that is known before the model is made."""
    if model.quantization is not None:
        return f"the model is quantised ({model.quantization})"
    if model.use_mla:
        return "vLLM keeps copies of the weights of multi-head latent attention"
    return None
