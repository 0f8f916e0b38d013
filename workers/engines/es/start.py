"""Starts a training by its back end: the weights, the state they begin with, and the engines that answer."""

from __future__ import annotations

from functools import partial

from workers.config import EsConfig
from workers.engines.context import Context
from workers.engines.es.backend import RunWeights, make_backend
from workers.engines.es.engine_group import RemoteGroup
from workers.engines.es.member_kl import KlPenalty
from workers.engines.es.startup import begin_state, check_decoder, initial_rows, plan_batches, start_group
from workers.engines.es.state import State
from workers.engines.es.trainable import make_trainable
from workers.engines.es.vllm_group import start_vllm
from workers.evaluation import frozen_copy


def start(context: Context) -> tuple[RunWeights, State, RemoteGroup, KlPenalty | None]:
    """Return the weights, the state, the engines, which do not run yet, and the penalty of es.kl_beta.

    Raise ConfigError, NotResumable.
    """
    es = context.config.es_section()
    if es.backend == "vllm":
        return *start_vllm(context), None
    return _start_here(context, es)


def _start_here(context: Context, es: EsConfig) -> tuple[RunWeights, State, RemoteGroup, KlPenalty | None]:
    """Start a run that decodes in processes of this project, or by an adapter server."""
    check_decoder(context, es)
    # Before the weights of a checkpoint are loaded into the model.
    base = frozen_copy(context.loaded.model) if es.kl_beta else None
    trainable = make_trainable(context.loaded, es.lora, context.config.seed, anchored=es.anchor_decay > 0)
    state = begin_state(context, trainable, es, partial(initial_rows, context, trainable, es))
    plan = plan_batches(context, state)
    backend = make_backend(context.loaded, trainable, es, state.origin.scales, plan)
    penalty = None if base is None else KlPenalty(context, backend, base, es.kl_beta)
    return backend, state, start_group(context, backend, state, plan), penalty
