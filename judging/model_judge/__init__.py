"""Asks a model which of two answers is better, and reads what it says. No Django below this line.

`judging.model_judge.client` asks; it stands apart, because it is slow to import.
"""

from judging.model_judge import rules
from judging.model_judge.hosts import Host, NotAllowed, hosts, permitted
from judging.model_judge.outcomes import Ended, State, ended, failed
from judging.model_judge.parser import Reading, read
from judging.model_judge.price import Cost, Price
from judging.model_judge.prompt import Pair, messages
from judging.model_judge.replies import Busy, Denied, Rejected, Reply, Server, Unwell
from judging.model_judge.request import LEAST_TOKENS, LIMITED_BY, SCHEMA, Request, Sampling, kept, request
from judging.model_judge.rubric import Rubric

__all__ = [
    "LEAST_TOKENS",
    "LIMITED_BY",
    "SCHEMA",
    "Busy",
    "Cost",
    "Denied",
    "Ended",
    "Host",
    "NotAllowed",
    "Pair",
    "Price",
    "Reading",
    "Rejected",
    "Reply",
    "Request",
    "Rubric",
    "Sampling",
    "Server",
    "State",
    "Unwell",
    "ended",
    "failed",
    "hosts",
    "kept",
    "messages",
    "permitted",
    "read",
    "request",
    "rules",
]
