"""Ask a model which of two responses is better, and parse its reply. This package does not import Django.

`judging.model_judge.client` sends the requests; it is imported separately, because it is slow to import.
"""

from judging.model_judge import rules
from judging.model_judge.hosts import Host, HostNotAllowed, find_allowed_host, parse_hosts
from judging.model_judge.outcomes import CallResult, State, failed_result, interpret_reply
from judging.model_judge.parser import Reading, read
from judging.model_judge.price import Cost, Price
from judging.model_judge.prompt import Pair, messages
from judging.model_judge.replies import AccessDenied, Reply, RequestRejected, Server, ServerBusy, ServerUnavailable
from judging.model_judge.request import LIMITED_BY, MIN_TOKENS, SCHEMA, Request, Sampling, request, restore_request
from judging.model_judge.rubric import Rubric

__all__ = [
    "LIMITED_BY",
    "MIN_TOKENS",
    "SCHEMA",
    "AccessDenied",
    "CallResult",
    "Cost",
    "Host",
    "HostNotAllowed",
    "Pair",
    "Price",
    "Reading",
    "Reply",
    "Request",
    "RequestRejected",
    "Rubric",
    "Sampling",
    "Server",
    "ServerBusy",
    "ServerUnavailable",
    "State",
    "failed_result",
    "find_allowed_host",
    "interpret_reply",
    "messages",
    "parse_hosts",
    "read",
    "request",
    "restore_request",
    "rules",
]
