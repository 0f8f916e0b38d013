"""Rows of judges and rubrics, as those who ask need them."""

from __future__ import annotations

from django.conf import settings

from judging import model_judge
from judging.judges.keys import key_of
from judging.model_judge import Host, Price, Sampling, Server, hosts
from judging.models import Judge, Rubric


def allowed_hosts() -> tuple[Host, ...]:
    """Those that whoever runs the site has named. Raises ValueError naming an entry that is none."""
    return hosts(settings.JUDGE_HOSTS)


def server_of(judge: Judge) -> Server:
    """Where it is asked, with its key. Raises KeyLost."""
    return Server(judge.base_url, key_of(judge.key), allowed_hosts(), float(judge.answer_seconds))


def sampling_of(judge: Judge) -> Sampling:
    """How its model is sampled. Raises ValueError for what makes no sense."""
    extra = dict(judge.sampling)
    temperature = extra.pop("temperature", None)
    return Sampling(temperature, judge.max_tokens, judge.structured, judge.limited_by, extra)


def price_of(judge: Judge) -> Price:
    """Per million tokens."""
    return Price(judge.price_in, judge.price_out)


def rubric_of(rubric: Rubric) -> model_judge.Rubric:
    """Its words and its scale."""
    slug = rubric.criterion.slug
    return model_judge.Rubric(slug, f"{rubric.question}\n{rubric.text}", rubric.scale_low, rubric.scale_high)
