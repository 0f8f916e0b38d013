"""Convert rows of judges and rubrics into the types of `judging.model_judge`."""

from __future__ import annotations

from django.conf import settings

from judging import model_judge
from judging.judges.keys import key_of
from judging.model_judge import Host, Price, Sampling, Server, parse_hosts
from judging.models import Judge, Rubric


def allowed_hosts() -> tuple[Host, ...]:
    """Return the hosts that ESWEB_JUDGE_HOSTS names. Raise ValueError that names an invalid entry."""
    return parse_hosts(settings.JUDGE_HOSTS)


def server_of(judge: Judge) -> Server:
    """Return the judge's server, with its key. Raise KeyLost if the key cannot be decrypted."""
    return Server(judge.base_url, key_of(judge.key), allowed_hosts(), float(judge.answer_seconds))


def sampling_of(judge: Judge) -> Sampling:
    """Return the sampling of the judge's model. Raise ValueError if it is invalid."""
    extra = dict(judge.sampling)
    temperature = extra.pop("temperature", None)
    return Sampling(temperature, judge.max_tokens, judge.structured, judge.limited_by, extra)


def price_of(judge: Judge) -> Price:
    """Return the judge's price per million tokens."""
    return Price(judge.price_in, judge.price_out)


def rubric_of(rubric: Rubric) -> model_judge.Rubric:
    """Return the text and the scale of a rubric."""
    slug = rubric.criterion.slug
    return model_judge.Rubric(slug, f"{rubric.question}\n{rubric.text}", rubric.scale_low, rubric.scale_high)
