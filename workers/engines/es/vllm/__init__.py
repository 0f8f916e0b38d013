"""Engines of vLLM: es.backend vllm. Each is a program of vLLM's own environment, which holds the run's weights.

    program         requests of the training process            python -m workers.engines.es.vllm.program
      backend       members, updates and checkpoints over all GPUs of an engine
        generation  vLLM in this process: requests, steps, and calls of its workers
        extension   in each of vLLM's workers, one per GPU
          copy_recorder, copy_plan   where the model's own loader stores each canonical tensor
          rank_weights               the float32 master, and its casts into vLLM's parameters
            tensor_files             safetensors, one tensor at a time
    setup           what the training process tells an engine of vLLM

The training process uses `setup` alone, and messages (`engine_group/wire.py`): no weights go over the wire. vLLM is
imported by `generation` only, once `program` knows that it is of the right version.
"""
