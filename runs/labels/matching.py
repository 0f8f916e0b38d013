"""Match lines of labels with the responses of an experiment, by run, step, split, prompt and sample, else by texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.db.models.functions import MD5

from runs.models import Experiment, LabelSet, Prompt, Response, Run
from runs.models.label import digest_of
from workers.analysis.labels import LabelLine

BATCH_SIZE = 1000
Place = tuple[int, int, str, str, int]
"""(run, step, split, name of the prompt, sample)."""


@dataclass(frozen=True)
class Match:
    """A response of the experiment, or of the set itself, and the identity of its texts."""

    digest: str
    response: int | None = None


class ResponseMatcher:
    """Finds the response of each line: in the set, then by its place, then by its texts. About one query per run."""

    def __init__(self, experiment: Experiment, person: User, label_set: LabelSet | None) -> None:
        self.runs = Run.objects.visible_to(person).filter(experiment=experiment)
        self.known = set(label_set.items.values_list("digest", flat=True)) if label_set else set[str]()

    def match(self, lines: Iterable[LabelLine]) -> dict[int, Match]:
        """Return the match of each line that has one, by the number of the line."""
        matches, left = dict[int, Match](), list[LabelLine]()
        for line in lines:
            digest = digest_of(line.label.question, line.label.response)
            if digest in self.known:
                matches[line.line] = Match(digest)
            else:
                left.append(line)
        for find in (self._by_place, self._by_texts):
            matches |= find(left)
            left = [line for line in left if line.line not in matches]
        return matches

    def _by_place(self, lines: list[LabelLine]) -> dict[int, Match]:
        """Match lines with a place. A response at the place with other texts does not match; a line without a question
        relies on the place alone."""
        runs = self._runs_by_name({line.label.run for line in lines if line.label.run})
        wanted = defaultdict[int, list[LabelLine]](list)
        for line in lines:
            label = line.label
            if label.step is not None and label.sample is not None:
                for run in runs.get(label.run, ()):
                    wanted[run].append(line)
        matches: dict[int, Match] = {}
        for run, lines_of_run in wanted.items():
            rows = self._responses_at(run, lines_of_run)
            for line in lines_of_run:
                label = line.label
                row = rows.get((run, label.step or 0, label.split, label.prompt, label.sample or 0))
                if row is not None and _is_same(line, row.prompt.text, row.text):
                    matches.setdefault(line.line, Match(digest_of(row.prompt.text, row.text), row.pk))
        return matches

    def _runs_by_name(self, names: set[str]) -> Mapping[str, list[int]]:
        by_name = defaultdict[str, list[int]](list)
        for pk, uid, name in self.runs.order_by("pk").values_list("pk", "uid", "name"):
            for key in {uid, name} & names:
                by_name[key].append(pk)
        return by_name

    def _responses_at(self, run: int, lines: list[LabelLine]) -> dict[Place, Response]:
        labels = [line.label for line in lines]
        rows = _stored_responses().filter(
            run=run, step__in={label.step for label in labels}, split__in={label.split for label in labels},
            sample__in={label.sample for label in labels}, prompt__name__in={label.prompt for label in labels},
        )  # fmt: skip
        fields = ("run", "step", "split", "sample", "text", "prompt__name", "prompt__text")
        rows = rows.select_related("prompt").only(*fields)
        return {(run, row.step, row.split, row.prompt.name, row.sample): row for row in rows.iterator(BATCH_SIZE)}

    def _by_texts(self, lines: list[LabelLine]) -> dict[int, Match]:
        """Match lines by question and response, with the first such response of the experiment."""
        labels = [line.label for line in lines]
        prompts = dict(Prompt.objects.filter(text__in={label.question for label in labels}).values_list("pk", "text"))
        first_rows: dict[str, int] = {}
        for texts in _batches(sorted({label.response for label in labels})):
            rows = _stored_responses().filter(prompt__in=prompts, run__in=self.runs).annotate(text_digest=MD5("text"))
            rows = rows.filter(text_digest__in=[_md5(text) for text in texts])
            for pk, prompt, text in rows.order_by("-run", "-step", "-sample").values_list("pk", "prompt", "text"):
                first_rows[digest_of(prompts[prompt], text)] = pk
        digests = {line.line: digest_of(line.label.question, line.label.response) for line in lines}
        return {line: Match(digest, first_rows[digest]) for line, digest in digests.items() if digest in first_rows}


def _stored_responses() -> QuerySet[Response]:
    return Response.objects.filter(is_superseded=False, words__isnull=False)


def _is_same(line: LabelLine, question: str, response: str) -> bool:
    """Return whether these are the line's texts, but for the ends of lines, which spreadsheets change."""
    if not line.label.question and not line.label.response:
        return True
    return (_plain(line.label.question), _plain(line.label.response)) == (_plain(question), _plain(response))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip("\n")


def _md5(text: str) -> str:
    return md5(text.encode(errors="surrogatepass"), usedforsecurity=False).hexdigest()


def _batches(texts: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(texts), BATCH_SIZE):
        yield texts[first : first + BATCH_SIZE]
