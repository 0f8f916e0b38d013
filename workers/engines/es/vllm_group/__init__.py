"""The training process of a run with es.backend vllm: it holds no float32 master, and its engines are processes.

    startup            begins or resumes the run
      first_logits     compares vLLM's logits with those of transformers
    group              the engines: responses, requests, and the order in which they start
    engine_weights     the run's weights as the training uses them: evaluated, saved

The engines' own side is `workers/engines/es/vllm`.
"""

from workers.engines.es.vllm_group.startup import start_vllm

__all__ = ["start_vllm"]
