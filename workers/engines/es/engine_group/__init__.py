"""The engines that share a population: this process, and others here or on other nodes that hold equal bits.

remote_group.py   distributes the batches of an iteration among processes, and compares their weights
group.py          the same, where this process is one of the engines
remote.py         manages one of the other engines: sends it commands, and starts it again when it is lost
commands.py       the commands
failures.py       weights that differ, and no engine left
process.py        its process and the messages to it; setup.py what it gets as it starts
starter.py        where each engine is, and its start: here, or on another node (workers/engine_nodes)
program.py        the program that it runs, serving.py what it shares with the program of vLLM's engines
wire.py           the messages

group ──► remote_group ──► remote (a thread each) ──► process ──wire──► program ──► backend
  └──────────────────────────────────────────────────────────────────────────────► backend
"""

from workers.engines.es.engine_group.commands import BatchAnswers
from workers.engines.es.engine_group.failures import EnginesDiffer, EnginesLost
from workers.engines.es.engine_group.group import EngineGroup
from workers.engines.es.engine_group.process import EngineProcess, EngineRefused
from workers.engines.es.engine_group.remote_group import RemoteGroup
from workers.engines.es.engine_group.setup import EngineSetup
from workers.engines.es.engine_group.starter import EnginePlace, EngineStarter, places_of

__all__ = [
    "BatchAnswers",
    "EngineGroup",
    "EnginePlace",
    "EngineProcess",
    "EngineRefused",
    "EngineSetup",
    "EngineStarter",
    "EnginesDiffer",
    "EnginesLost",
    "RemoteGroup",
    "places_of",
]
