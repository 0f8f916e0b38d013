"""Settings of a scorer that is launched as a run: it serves in place of training, until it is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from workers.config.fields import Bounds, Resource, Shape

NAME = Shape(r"[A-Za-z0-9][\w.-]{0,99}", "letters, digits, dots, dashes and underscores, such as safety-7b")

SECRET = Shape(r"([A-Za-z0-9][\w.-]{0,99})?", "empty, or letters, digits, dots, dashes and underscores")


@dataclass(frozen=True)
class ScorerConfig:
    """Reward and cost of responses over HTTP. Device and precision are the model section's; its path is not used."""

    name: Annotated[str, NAME] = "scorer"
    """Name by which runs find this scorer."""
    reward_model: Annotated[str, Resource("score_model")] = "tiny"
    """tiny, or a checkpoint, named as in model.path. Its architecture must end in ForScore (Safe-RLHF) or
    ForSequenceClassification."""
    cost_model: Annotated[str, Resource("score_model")] = "tiny"
    """The same for the cost, which is above 0 if a response is unsafe."""
    reward_label: str = ""
    """Label whose log-odds are the reward, if the reward model is a classifier with several labels."""
    cost_label: str = ""
    """Label whose log-odds are the cost, if the cost model is a classifier with several labels."""
    max_length: Annotated[int, Bounds(at_least=2, at_most=1_000_000)] = 2048
    """Maximum tokens of a conversation; longer ones lose their beginning. Published scores use 512 to 2048."""
    batch: Annotated[int, Bounds(at_least=1, at_most=4096)] = 32
    """Texts in one pass through the models."""
    waiting: Annotated[int, Bounds(at_least=1, at_most=10_000_000)] = 16384
    """Maximum texts of all clients in the queue. Further requests are refused with the time of the next try."""
    host: str = "127.0.0.1"
    """Address to listen on: 127.0.0.1 for this machine only, 0.0.0.0 for every machine that can reach it."""
    port: Annotated[int, Bounds(at_least=0, at_most=65535)] = 0
    """Port to listen on; 0 uses a free one."""
    address: Annotated[str, Resource("by_hand")] = ""
    """Address that clients call; empty means the machine's name and the port."""
    secret: Annotated[str, SECRET, Resource("scorer_secret")] = ""
    """Name of your scorer secret with the token that clients must send; required if other machines can reach it."""
    token_file: Annotated[str, Resource("by_hand")] = ""
    """File with the token that clients must send; required if other machines can reach it."""
    site: Annotated[str, Resource("by_hand")] = ""
    """Base URL of the esweb at which it registers; empty means that it does not register."""
    site_token_file: Annotated[str, Resource("by_hand")] = ""
    """File with a token of scope serve for that esweb."""
    drain_seconds: Annotated[int, Bounds(at_least=1, at_most=86_400)] = 60
    """Seconds that started requests may still take after the scorer was asked to stop."""
