"""The engines that share a population: this process, and others on this machine that hold equal bits.

group.py    distributes the batches of an iteration, and compares the engines' weights remote.py   manages one of the
other engines: sends it commands, and starts it again when it is lost process.py  its process and the messages to it
program.py  the program that it runs wire.py     the messages

group ──► remote (a thread each) ──► process ──wire──► program ──► backend
  └─────────────────────────────────────────────────────────────► backend
"""

from workers.engines.es.engine_group.group import EngineGroup, EnginesDiffer
from workers.engines.es.engine_group.process import EngineProcess, EngineRefused, EngineSetup
from workers.engines.es.engine_group.remote import BatchAnswers

__all__ = ["BatchAnswers", "EngineGroup", "EngineProcess", "EngineRefused", "EngineSetup", "EnginesDiffer"]
