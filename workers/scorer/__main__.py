"""Serve reward and cost of answers over HTTP.

    python -m workers.scorer [--reward-model MODEL] [--cost-model MODEL] [--port 8000]
    python -m workers.scorer --host 0.0.0.0 --token-file FILE --site https://esweb.example --site-token-file FILE

A model is tiny, which the project makes itself, or a checkpoint: a folder or a name on the Hugging Face hub, of
Safe-RLHF's score models or of any sequence classifier. Exit codes: 0 it was stopped, and every request was answered; 2
a model or the address cannot be used, and stderr gives the reason.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields

from workers.client.registry import Refused
from workers.scorer.models import BadModel, ModelOptions, load
from workers.scorer.models.base import Role
from workers.scorer.service.limits import Limits
from workers.scorer.service.metrics import Metrics
from workers.scorer.service.server import NotServed, ServerSettings, serve, token_reader

BAD_USE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line. Return the exit code."""
    options = _parser().parse_args(argv)
    limits = Limits(**{field.name: getattr(options, f"most_{field.name}") for field in fields(Limits)})
    settings = ServerSettings(
        **{field.name: getattr(options, field.name) for field in fields(ServerSettings) if field.name != "limits"},
        limits=limits,
    )
    try:
        # Checked before the models load, which takes minutes, so that a bad address is reported immediately.
        token_reader(settings)
        models = load(_model_options("reward", options)), load(_model_options("cost", options))
        serve(settings, *models, Metrics(), _stop_on_signals(), lambda words: print(words, flush=True))
    except (BadModel, NotServed, Refused, ValueError) as error:
        print(error, file=sys.stderr)
        return BAD_USE
    return 0


def _stop_on_signals() -> Callable[[], bool]:
    """Return a function that is true once SIGTERM or SIGINT has arrived."""
    received_signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: received_signals.append(received))
    return lambda: bool(received_signals)


def _model_options(role: Role, options: argparse.Namespace) -> ModelOptions:
    name, label = getattr(options, f"{role}_model"), getattr(options, f"{role}_label")
    return ModelOptions(role, name, label, options.max_length, options.device, options.dtype)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m workers.scorer", description="Serve reward and cost of responses.")
    for role in ("reward", "cost"):
        parser.add_argument(
            f"--{role}-model", default="tiny", metavar="MODEL", help="tiny, a folder, or a name on the Hugging Face hub"
        )
        parser.add_argument(
            f"--{role}-label", default="", metavar="LABEL", help="label to use, if a classifier has several"
        )
    parser.add_argument(
        "--max-length", type=_count, default=2048, metavar="TOKENS", help="maximum tokens of a text; default: 2048"
    )
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto")
    _add_server_options(parser)
    for field in fields(Limits):
        parser.add_argument(f"--most-{field.name.replace('_', '-')}", type=_count, default=field.default, metavar="N")
    return parser


def _count(word: str) -> int:
    """Parse a number that is at least 1. Raise ArgumentTypeError."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {word}")
    return int(word)


def _add_server_options(parser: argparse.ArgumentParser) -> None:
    default = ServerSettings()
    parser.add_argument("--host", default=default.host, help="address to listen on; default: only this machine")
    parser.add_argument(
        "--port", type=int, default=default.port, help="port to listen on; 0 uses a free one; default: 8000"
    )
    parser.add_argument("--address", default="", help="address that clients call; default: from host and port")
    parser.add_argument("--token-file", default="", metavar="FILE", help="file with the token that clients must send")
    parser.add_argument(
        "--open", dest="is_open", action="store_true", help="require no token, although others can reach it"
    )
    parser.add_argument("--site", default="", help="address of an esweb to register with")
    parser.add_argument("--site-token-file", default="", metavar="FILE", help="file with a token of scope serve")
    parser.add_argument("--name", default=default.name, help="name of the scorer, by which runs find it")
    parser.add_argument(
        "--drain-seconds", type=_count, default=default.drain_seconds, help="seconds for started requests when it stops"
    )


if __name__ == "__main__":
    sys.exit(main())
