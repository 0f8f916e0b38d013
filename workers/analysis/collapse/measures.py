"""Compute all numbers of one set of answers, and select the answers that show best what each number means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from workers.analysis.collapse.answers import Answer, distinct_answers, first_per_prompt
from workers.analysis.collapse.duplicates import clusters, effective_number
from workers.analysis.collapse.languages import language_of
from workers.analysis.collapse.response_flags import is_cut, leaks, refuses
from workers.analysis.collapse.variety import distinct, gzip_ratio, self_bleu

TOKENS = (250, 1000, 4000, 16000)
"""Words of which distinct n-grams are counted, as far as there are so many."""
BYTES = (1000, 4000, 16000, 64000)
NGRAMS = (1, 2, 3)
BLEU_ANSWERS = 200
MAX_ANSWERS = 10_000
"""More answers are not measured: a sample of this size gives a share to within a point."""
MAX_EXAMPLES = 3
MAX_QUOTE_LENGTH = 300
IN = "in "
"""The prefix of a language in the names of examples."""

Groups: TypeAlias = Mapping[tuple[str, ...], Sequence[Answer]]


@dataclass(frozen=True)
class Example:
    """A text that answers have in common, in the wording of one of them, and the keys of the first of them."""

    text: str
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Measures:
    """The numbers of a set. answers: how many were measured; of: how many there were; prompts: how many distinct
    prompts.

    Shares of the answers, 0 to 1. exact: another prompt was answered with the same words; near: in the largest cluster
    of nearly equal ones; opening, sentence: that have the most common first eight words, or sentence, of those that
    answers to several prompts have; leak, cut, refusal: see `manners`; empty: special tokens and white space alone.
    languages: as `languages` names them -> how many answers are in each. clusters: the effective number of clusters of
    nearly equal answers, of which each prompt's count once in a cluster, as if there were `answers` of them.
    Of one answer a prompt: self_bleu: of 200; distinct: words -> share of different 1-, 2- and 3-grams in the first so
    many; gzip: bytes -> compression ratio.
    None, or no entry, if there is too little text.
    """

    answers: int
    of: int
    exact: float
    near: float
    clusters: float
    opening: float
    sentence: float
    leak: float
    cut: float
    refusal: float
    self_bleu: float | None
    distinct: Mapping[int, tuple[float, ...]]
    gzip: Mapping[int, float]
    examples: Mapping[str, Example]
    languages: Mapping[str, int] = field(default_factory=dict)
    """Language -> number of answers; empty for answers that were measured before languages were counted."""
    empty: float = 0.0
    prompts: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Measures:
        """Return the measures that `to_json` wrote, through JSON and back."""
        distinct = {int(tokens): tuple(shares) for tokens, shares in data["distinct"].items()}
        gzip = {int(size): ratio for size, ratio in data["gzip"].items()}
        examples = {
            name: Example(example["text"], tuple(example["keys"])) for name, example in data["examples"].items()
        }
        # In older measurements each answer was to another prompt.
        prompts = data.get("prompts", data["answers"])
        return cls(**{**data, "prompts": prompts, "distinct": distinct, "gzip": gzip, "examples": examples})


def measure(answers: Iterable[Answer]) -> Measures | None:
    """Return the numbers of these answers; None if there are none."""
    whole = distinct_answers(answers)
    sampled = whole[:MAX_ANSWERS]
    if not sampled:
        return None
    first = first_per_prompt(sampled)
    words, first_words = [answer.words for answer in sampled], [answer.words for answer in first]
    near = [[sampled[i] for i in members] for members in clusters(words)]
    exact = _group_by(sampled, lambda answer: [answer.words])
    groups = {
        "exact": _largest(exact),
        "near": next((members for members in near if _is_shared(members)), []),
        "opening": _largest(_group_by(sampled, lambda answer: [answer.opening] if answer.opening else [])),
        "sentence": _largest(_group_by(sampled, lambda answer: answer.sentences)),
        "leak": [answer for answer in sampled if leaks(answer)],
        "cut": [answer for answer in sampled if is_cut(answer)],
        "refusal": [answer for answer in sampled if refuses(answer)],
        "empty": [answer for answer in sampled if answer.is_empty],
    }
    shares = {name: len(members) / len(sampled) for name, members in groups.items()}
    repeated = sum(len(members) for members in exact.values() if _is_shared(members))
    sizes = [len({answer.question for answer in members}) for members in near]
    by_language = _group_by_language(sampled)
    return Measures(
        **shares | {"exact": repeated / len(sampled)},
        answers=len(sampled), of=len(whole), prompts=len(first),
        clusters=effective_number(sizes) * (len(sampled) / sum(sizes)),
        self_bleu=self_bleu(first_words[:BLEU_ANSWERS]), distinct=_distinct(first_words), gzip=_gzip(first),
        examples={name: _example(name, members) for name, members in (groups | by_language).items() if members},
        languages={name.removeprefix(IN): len(members) for name, members in by_language.items()},
    )  # fmt: skip


def _group_by(answers: Sequence[Answer], keys_of: Callable[[Answer], Iterable[tuple[str, ...]]]) -> Groups:
    groups: dict[tuple[str, ...], list[Answer]] = defaultdict(list)
    for answer in answers:
        for key in keys_of(answer):
            groups[key].append(answer)
    return groups


def _group_by_language(answers: Sequence[Answer]) -> dict[str, Sequence[Answer]]:
    """Return the answers in each language, those of the commonest first, under the names of their examples."""
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        if name := language_of(answer.text, answer.words):
            groups[f"{IN}{name}"].append(answer)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))


def _largest(groups: Groups) -> Sequence[Answer]:
    """Return the largest of the groups that answer several prompts, of groups of one size the one with the longest
    text; an empty sequence if there is none."""
    shared = [words for words, members in groups.items() if _is_shared(members)]
    return groups[max(shared, key=lambda words: (len(groups[words]), len(words), words))] if shared else []


def _is_shared(answers: Sequence[Answer]) -> bool:
    """Return whether they answer more than one prompt: samples of one prompt may be equal legitimately."""
    return len(answers) > 1 and any(answer.question != answers[0].question for answer in answers)


def _distinct(words: Sequence[tuple[str, ...]]) -> dict[int, tuple[float, ...]]:
    shares_by_tokens = {tokens: [distinct(words, n, tokens) for n in NGRAMS] for tokens in TOKENS}
    return {
        tokens: tuple(s for s in shares if s is not None)
        for tokens, shares in shares_by_tokens.items()
        if None not in shares
    }


def _gzip(answers: Sequence[Answer]) -> dict[int, float]:
    ratios = {size: gzip_ratio([answer.text for answer in answers], size) for size in BYTES}
    return {size: ratio for size, ratio in ratios.items() if ratio is not None}


def _example(name: str, answers: Sequence[Answer]) -> Example:
    first = answers[0]
    shared = _shared_sentence(answers) if name == "sentence" else " ".join(first.text.split())
    return Example(shared[:MAX_QUOTE_LENGTH], tuple(answer.key for answer in answers[:MAX_EXAMPLES]))


def _shared_sentence(answers: Sequence[Answer]) -> str:
    """Return the sentence that all of them hold, the longest if there are several."""
    common = set.intersection(*(set(answer.sentences) for answer in answers))
    return answers[0].sentences[max(common, key=lambda words: (len(words), words))]
