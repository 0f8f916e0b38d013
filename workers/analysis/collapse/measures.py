"""All numbers of one set of answers, and the answers that show best what each of them means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from workers.analysis.collapse.answers import Answer, different, one_a_prompt
from workers.analysis.collapse.duplicates import clusters, effective_number
from workers.analysis.collapse.languages import language_of
from workers.analysis.collapse.manners import is_cut, leaks, refuses
from workers.analysis.collapse.variety import distinct, gzip_ratio, self_bleu

TOKENS = (250, 1000, 4000, 16000)
"""Words of which distinct n-grams are counted, as far as there are so many."""
BYTES = (1000, 4000, 16000, 64000)
NGRAMS = (1, 2, 3)
BLEU_ANSWERS = 200
ANSWERS_AT_MOST = 10_000
"""More are not looked at: a sample of this size tells a share to within a point."""
EXAMPLES_AT_MOST = 3
QUOTED = 300
IN = "in "
"""Before a language, in the names of examples."""

Groups: TypeAlias = Mapping[tuple[str, ...], Sequence[Answer]]


@dataclass(frozen=True)
class Example:
    """What answers have in common, as one of them wrote it, and the keys of the first of them."""

    text: str
    keys: tuple[int, ...]


@dataclass(frozen=True)
class Measures:
    """answers: how many were looked at; of: how many there were; prompts: how many different ones those answer.

    Shares of the answers, 0 to 1. exact: another prompt was answered with the same words; near: in the largest cluster
    of nearly equal ones; opening, sentence: that have the most common first eight words, or sentence, of those that
    answers to several prompts have; leak, cut, refusal: see `manners`; empty: special tokens and white space alone.
    languages: as `languages` names them -> how many answers are in each. clusters: the effective number of clusters of
    nearly equal answers, of which each prompt's count once in a cluster, as if there were `answers` of them.
    Of one answer a prompt: self_bleu: of 200; distinct: words -> share of different 1-, 2- and 3-grams in the first so
    many; gzip: bytes -> compression ratio.
    None, or no entry, where there is too little text to tell.
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
    """Empty where nobody looked: of answers that were measured before."""
    empty: float = 0.0
    prompts: int = 0

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Measures:
        """What `to_json` wrote, through JSON and back."""
        distinct = {int(tokens): tuple(shares) for tokens, shares in said["distinct"].items()}
        gzip = {int(size): ratio for size, ratio in said["gzip"].items()}
        examples = {name: Example(one["text"], tuple(one["keys"])) for name, one in said["examples"].items()}
        # Of what was measured before, each answer was to another prompt.
        prompts = said.get("prompts", said["answers"])
        return cls(**{**said, "prompts": prompts, "distinct": distinct, "gzip": gzip, "examples": examples})


def measure(answers: Iterable[Answer]) -> Measures | None:
    """The numbers of these answers; None where there are none."""
    whole = different(answers)
    kept = whole[:ANSWERS_AT_MOST]
    if not kept:
        return None
    first = one_a_prompt(kept)
    words, first_words = [answer.words for answer in kept], [answer.words for answer in first]
    near = [[kept[i] for i in members] for members in clusters(words)]
    exact = _by(kept, lambda answer: [answer.words])
    groups = {
        "exact": _largest(exact),
        "near": next((members for members in near if _is_shared(members)), []),
        "opening": _largest(_by(kept, lambda answer: [answer.opening] if answer.opening else [])),
        "sentence": _largest(_by(kept, lambda answer: answer.sentences)),
        "leak": [answer for answer in kept if leaks(answer)],
        "cut": [answer for answer in kept if is_cut(answer)],
        "refusal": [answer for answer in kept if refuses(answer)],
        "empty": [answer for answer in kept if answer.is_empty],
    }
    shares = {name: len(found) / len(kept) for name, found in groups.items()}
    repeated = sum(len(members) for members in exact.values() if _is_shared(members))
    sizes = [len({answer.question for answer in members}) for members in near]
    spoken = _by_language(kept)
    return Measures(
        **shares | {"exact": repeated / len(kept)},
        answers=len(kept), of=len(whole), prompts=len(first),
        clusters=effective_number(sizes) * (len(kept) / sum(sizes)),
        self_bleu=self_bleu(first_words[:BLEU_ANSWERS]), distinct=_distinct(first_words), gzip=_gzip(first),
        examples={name: _example(name, found) for name, found in (groups | spoken).items() if found},
        languages={name.removeprefix(IN): len(found) for name, found in spoken.items()},
    )  # fmt: skip


def _by(answers: Sequence[Answer], what: Callable[[Answer], Iterable[tuple[str, ...]]]) -> Groups:
    found: dict[tuple[str, ...], list[Answer]] = defaultdict(list)
    for answer in answers:
        for one in what(answer):
            found[one].append(answer)
    return found


def _by_language(answers: Sequence[Answer]) -> dict[str, Sequence[Answer]]:
    """Named as examples of it are: the answers in each language, those of the commonest first."""
    found: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        if name := language_of(answer.text, answer.words):
            found[f"{IN}{name}"].append(answer)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _largest(groups: Groups) -> Sequence[Answer]:
    """The largest of the groups that answer several prompts, of those of a size the one with the longest text; nothing
    where there is none."""
    shared = [words for words, members in groups.items() if _is_shared(members)]
    return groups[max(shared, key=lambda words: (len(groups[words]), len(words), words))] if shared else []


def _is_shared(answers: Sequence[Answer]) -> bool:
    """They answer more than one prompt: samples of one may be equal in all honesty."""
    return len(answers) > 1 and any(answer.question != answers[0].question for answer in answers)


def _distinct(words: Sequence[tuple[str, ...]]) -> dict[int, tuple[float, ...]]:
    found = {tokens: [distinct(words, n, tokens) for n in NGRAMS] for tokens in TOKENS}
    return {tokens: tuple(s for s in shares if s is not None) for tokens, shares in found.items() if None not in shares}


def _gzip(answers: Sequence[Answer]) -> dict[int, float]:
    found = {size: gzip_ratio([answer.text for answer in answers], size) for size in BYTES}
    return {size: ratio for size, ratio in found.items() if ratio is not None}


def _example(name: str, answers: Sequence[Answer]) -> Example:
    first = answers[0]
    shared = _shared_sentence(answers) if name == "sentence" else " ".join(first.text.split())
    return Example(shared[:QUOTED], tuple(answer.key for answer in answers[:EXAMPLES_AT_MOST]))


def _shared_sentence(answers: Sequence[Answer]) -> str:
    """The sentence that all of them hold, the longest where there are several."""
    common = set.intersection(*(set(answer.sentences) for answer in answers))
    return answers[0].sentences[max(common, key=lambda words: (len(words), words))]
