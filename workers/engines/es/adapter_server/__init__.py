"""Members as LoRA adapters on a running vLLM or SGLang server, which holds the base model and answers their prompts.

backend.py        the back end: writes members as PEFT folders and returns their responses
adapter_queue.py  adapters in turn on the server: load, answer, unload; waits while the server fails
comparison.py     compares the server with the model of this process before training
decoder.py        responses of the centre, for evaluations
folder.py         folders and names of adapters
vllm.py           routes of vLLM
sglang.py         routes of SGLang
protocol.py       what both have in common
connection.py     requests over HTTP
lookup.py         address and token of the server
threads.py        threads that wait for the server

backend ──► adapter_queue ──► vllm | sglang ──► connection ──► lookup
"""

from workers.engines.es.adapter_server.adapter_queue import AdapterServerFailed
from workers.engines.es.adapter_server.backend import AdapterServerBackEnd, connect_server

__all__ = ["AdapterServerBackEnd", "AdapterServerFailed", "connect_server"]
