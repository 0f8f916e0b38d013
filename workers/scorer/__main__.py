"""Serves reward and cost of answers over HTTP.

    python -m workers.scorer [--reward-model MODEL] [--cost-model MODEL] [--port 8000]
    python -m workers.scorer --host 0.0.0.0 --token-file FILE --site https://esweb.example --site-token-file FILE

A model is tiny, which the project makes itself, or a checkpoint: a folder or a name on the Hugging Face hub, of
Safe-RLHF's score models or of any sequence classifier. Exit codes: 0 told to end, and every request answered; 2 what
was asked for cannot be had, and stderr says why.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields

from workers.client.registry import Refused
from workers.scorer.models import BadModel, Wanted, load
from workers.scorer.models.base import Role
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.serving import NotServed, Place, serve, tokens

BAD_USE = 2


def main(words: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code."""
    asked = _parser().parse_args(words)
    limits = Limits(**{one.name: getattr(asked, f"most_{one.name}") for one in fields(Limits)})
    place = Place(
        **{one.name: getattr(asked, one.name) for one in fields(Place) if one.name != "limits"}, limits=limits
    )
    try:
        # Before the models, which take minutes: a place that cannot be served from is said at once.
        tokens(place)
        models = load(_wanted("reward", asked)), load(_wanted("cost", asked))
        serve(place, *models, Metrics(), _told_by_signals(), lambda words: print(words, flush=True))
    except (BadModel, NotServed, Refused, ValueError) as error:
        print(error, file=sys.stderr)
        return BAD_USE
    return 0


def _told_by_signals() -> Callable[[], bool]:
    """True once SIGTERM or SIGINT has come."""
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: told.append(received))
    return lambda: bool(told)


def _wanted(role: Role, asked: argparse.Namespace) -> Wanted:
    name, label = getattr(asked, f"{role}_model"), getattr(asked, f"{role}_label")
    return Wanted(role, name, label, asked.max_length, asked.device, asked.dtype)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.scorer", description="Serves reward and cost of answers.")
    for role in ("reward", "cost"):
        parser.add_argument(f"--{role}-model", default="tiny", metavar="MODEL", help="tiny, a folder, or a hub's name")
        parser.add_argument(
            f"--{role}-label", default="", metavar="LABEL", help="which, where a classifier has several"
        )
    parser.add_argument("--max-length", type=_count, default=2048, metavar="TOKENS", help="of a text; default: 2048")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto")
    _add_place(parser)
    for one in fields(Limits):
        parser.add_argument(f"--most-{one.name.replace('_', '-')}", type=_count, default=one.default, metavar="N")
    return parser


def _count(word: str) -> int:
    """A number that is at least 1. Raises ArgumentTypeError."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {word}")
    return int(word)


def _add_place(parser: argparse.ArgumentParser) -> None:
    default = Place()
    parser.add_argument("--host", default=default.host, help="where to listen; default: this machine alone")
    parser.add_argument("--port", type=int, default=default.port, help="0 takes a free one; default: 8000")
    parser.add_argument("--address", default="", help="where others call it; default: made from host and port")
    parser.add_argument("--token-file", default="", metavar="FILE", help="holds the token that clients must show")
    parser.add_argument("--open", dest="is_open", action="store_true", help="no token, although others can reach it")
    parser.add_argument("--site", default="", help="address of an esweb to register with")
    parser.add_argument("--site-token-file", default="", metavar="FILE", help="holds a token of scope serve")
    parser.add_argument("--name", default=default.name, help="which scorer it is, for those who look for one")
    parser.add_argument(
        "--drain-seconds", type=_count, default=default.drain_seconds, help="for what was begun, at the end"
    )


if __name__ == "__main__":
    sys.exit(main())
