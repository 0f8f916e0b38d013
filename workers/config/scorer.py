"""The knobs of a scorer that is launched as a run: it serves in place of training, until it is told to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from workers.config.knobs import Bounds, Resource, Shape

NAME = Shape(r"[A-Za-z0-9][\w.-]{0,99}", "letters, digits, points, dashes and underscores, such as safety-7b")

SECRET = Shape(r"([A-Za-z0-9][\w.-]{0,99})?", "empty, or letters, digits, points, dashes and underscores")


@dataclass(frozen=True)
class ScorerConfig:
    """Reward and cost of answers over HTTP. Device and precision are the model section's; its path is not used."""

    name: Annotated[str, NAME] = "scorer"
    """The name under which runs find it."""
    reward_model: Annotated[str, Resource("score_model")] = "tiny"
    """tiny, or a checkpoint, named as in model.path, of an architecture ending in ForScore (Safe-RLHF) or
    ForSequenceClassification."""
    cost_model: Annotated[str, Resource("score_model")] = "tiny"
    """The same for the cost, which is above 0 where an answer is unsafe."""
    reward_label: str = ""
    """Which label's log-odds are the reward, where the reward model is a classifier with several."""
    cost_label: str = ""
    """Which label's log-odds are the cost, where the cost model is a classifier with several."""
    max_length: Annotated[int, Bounds(at_least=2, at_most=1_000_000)] = 2048
    """Tokens of a conversation that a model sees; longer ones lose their beginning. Published scores: 512 to 2048."""
    batch: Annotated[int, Bounds(at_least=1, at_most=4096)] = 32
    """Texts in one pass through the models."""
    waiting: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 16384
    """Texts of all clients that may wait; beyond, clients are told when to come again."""
    host: str = "127.0.0.1"
    """Where it listens: 127.0.0.1 is its own machine alone, 0.0.0.0 every machine that can reach it."""
    port: Annotated[int, Bounds(at_least=0, at_most=65535)] = 0
    """Its port; 0 takes a free one."""
    address: Annotated[str, Resource("by_hand")] = ""
    """Where others call it; empty means the machine's name and the port."""
    secret: Annotated[str, SECRET, Resource("scorer_secret")] = ""
    """Name of a scorer's secret of yours, whose token clients must show; needed if other machines can reach it."""
    token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token that clients must show; needed if other machines can reach it."""
    site: Annotated[str, Resource("by_hand")] = ""
    """Base URL of the esweb where it registers; empty means that it registers nowhere."""
    site_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with a token of scope serve for that esweb."""
    drain_seconds: Annotated[int, Bounds(at_least=1, at_most=86_400)] = 60
    """How long requests that have begun may still take once it is told to end."""
