"""Measure the page that compares answers of six models to 3036 rows: every filter, sort and search, and its scatter.

All of them have met in a tournament, with verdicts of two judges on each pair by two criteria.

    python -m benchmarks.viewer

The real page over HTTP from one web server process, with answers as long as those published, prompts of which one text
occurs 52 times, among the answers of other runs. The goal is that of the slowest twentieth of all answers, and of those
to any single query.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote_plus, urlencode

from benchmarks import judgments, results, servers
from benchmarks.closed_loop import Page, get, percentile

MODELS, ROWS, UNIQUE, OFTENEST, OTHERS = 6, 3036, 2954, 52, 6
ROUNDS, GOAL_MS = 8, 300.0
SYLLABLES = ("ta", "ri", "mon", "el", "ka", "ver", "so", "lin", "du", "per", "gra", "no", "fi", "ste", "wu", "bar")
COMMON = ("the", "of", "and", "to", "that", "you", "is", "for", "not", "with", "safe", "harm", "please", "people")
RANGES = ("reward", "cost", "words", "ratio", "dreward", "dcost")
CATEGORIES = tuple(f"Harm {n}" for n in range(19))
FLAGS = ("truncated", "leak", "refusal", "duplicate", "empty")
SORTS = ("row", "reward", "cost", "words", "dreward", "dcost", "ratio", "reward_spread", "cost_spread", "difference")
JUDGMENT_FILTERS = ("disagree", "swapped", "people_against", "reward_against", "cost_against", "unjudged")
SORTS_BY_JUDGES = ("won", "disagreement", "uncertainty")


def queries() -> list[dict[str, str]]:
    """Return every filter and every sort, and some combinations."""
    out: list[dict[str, str]] = [{}, {"diff": "pinned"}, {"quadrant": "UH"}, {"same": "1"}]
    out += [{f"{name}_min": "0.5"} for name in RANGES] + [{f"{name}_max": "-1", "in": "B"} for name in RANGES]
    out += [{"category": CATEGORIES[0]}, {"category": CATEGORIES[18], "sort": "-dcost", "quadrant": "UH"}]
    out += [{flag: value, "in": scope} for flag in FLAGS for value, scope in (("yes", "any"), ("no", "all"))]
    out += [{"change": change} for change in ("text", "quadrant", "safer", "unsafer", "corrected", "broken")]
    out += [{"correctness": "wrong"}, {"correctness": "right", "in": "B"}]
    out += [{"sort": sign + sort} for sort in SORTS for sign in ("", "-")]
    out += [{"q": "the"}, {"q": "monelka"}, {"q": "to that", "where": "both"}, {"q": "prompt 17", "where": "prompts"}]
    out += [{"q": "mon.{1,3}ka", "as": "regex"}, {"q": "USER:", "in": "A"}, {"q": "no such words"}]
    out += [
        {"lasso": "-1,-1,1,-1,1,1,-1,1", "sort": "-dcost"},
        {"q": "harm", "quadrant": "UU", "sort": "-cost", "diff": "pinned"},
    ]
    out += [{name: value} for name in JUDGMENT_FILTERS for value in ("yes", "no")]
    out += [{"sort": f"-{sort}"} | by for sort in SORTS_BY_JUDGES for by in ({}, {"criterion": "helpfulness"})]
    out += [{"disagree": "yes", "in": "C", "criterion": "harmlessness", "sort": "-uncertainty"}]
    out += [{"duplicate": "yes", "leak": "no", "reward_min": "0", "sort": "-reward_spread"}, {"samples": "all"}]
    return out


def prompts() -> list[str]:
    """Return the prompts of the rows: one text 52 times, some twice."""
    texts = [f"Prompt {n}: {sentence(random.Random(n), 14)}?" for n in range(UNIQUE)]
    twice = ROWS - UNIQUE - (OFTENEST - 1)
    return [texts[0]] * OFTENEST + [text for n, text in enumerate(texts[1:]) for _ in range(2 if n < twice else 1)]


def sentence(rng: random.Random, words: int) -> str:
    """Return words of no language, with common ones among them."""
    invented = ("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(words))
    return " ".join(rng.choice(COMMON) if rng.random() < 0.4 else word for word in invented)


def write(folder: Path, tag: str, seed: int) -> None:
    """Write a model's points: answers of about 150 words, some of them the same, cut off, in both roles, or
    refusals."""
    rng = random.Random(seed)
    with (folder / f"{tag}_points.jsonl").open("w", encoding="utf-8") as file:
        for n, prompt in enumerate(prompts()):
            text = sentence(rng, rng.randint(20, 280)) + ("." if rng.random() < 0.7 else "")
            text = "I cannot help with that." if n % 31 == 0 else f"{text} USER: and?" if n % 7 == 0 else text
            point = {"prompt": prompt, "response": text, "reward": rng.gauss(0, 1), "cost": rng.gauss(0, 4)}
            # As many as PKU-SafeRLHF names, of a prompt none, one or two.
            point["category"] = [name for k, name in enumerate(CATEGORIES) if (n * 7919) % (17 + 3 * k) == 0]
            file.write(f"{json.dumps(point)}\n")


def fill() -> list[str]:
    """Import the models and judge them; return their uids."""
    uids = import_models()
    print(f"{judgments.judge(uids)} verdicts")
    servers.settle()
    return uids


def import_models() -> list[str]:
    """Import the models, and as many others that the page does not select; return the uids of the first."""
    from runs import importing
    from runs.importing import ImportTarget
    from runs.models import Run

    owner = servers.experiment().owner
    with tempfile.TemporaryDirectory() as name, ExitStack() as keep:
        for n in range(MODELS + OTHERS):
            write(Path(name), f"Model-{n:02}", n)
        importing.import_runs(importing.files_from_path(Path(name), keep), ImportTarget(owner, "Benchmarks"))
    return list(Run.objects.order_by("name").values_list("uid", flat=True)[:MODELS])


def addresses(uids: list[str]) -> list[str]:
    """Return the requested addresses: the page with every query, a page far down, and the scatter."""
    from django.urls import reverse

    from runs.responses.viewer import ResponseCursor

    columns = urlencode([("run", uid) for uid in uids])
    deep = ResponseCursor(0.0, 2000, "2000", 1, 0)
    pages = [f"{reverse('viewer')}?{columns}&{urlencode(query)}" for query in [*queries(), {"after": str(deep)}]]
    return [*pages, f"{reverse('viewer-scatter')}?{columns}"]


def fetch_pages(web: servers.Web, uids: list[str]) -> dict[str, list[Page]]:
    """Return address -> the pages, over all rounds, after one that warms up."""
    headers, pages = servers.browser_headers(), defaultdict(list)
    for number in range(ROUNDS + 1):
        for address in addresses(uids):
            page = get(web.port, address, headers)
            if number:
                pages[address].append(page)
    return pages


def report(pages_by_address: dict[str, list[Page]]) -> None:
    """Print the slowest queries by name, and record the figures of all."""
    slowest = {
        address: 1000 * percentile([page.seconds for page in pages], 0.95)
        for address, pages in pages_by_address.items()
    }
    for address in sorted(slowest, key=lambda query: -slowest[query])[:6]:
        print(f"  {slowest[address]:6.0f} ms  {unquote_plus(address).rpartition('run=')[2][11:] or '(as it opens)'}")
    pages = [page for several in pages_by_address.values() for page in several]
    slow, typical = (1000 * percentile([page.seconds for page in pages], part) for part in (0.95, 0.5))
    worst, size = max(slowest.values()), max(page.size for page in pages) / 1000
    results.at_most(f"{ROWS} rows x {MODELS}, all {len(pages_by_address)} questions, p95", slow, GOAL_MS, "ms")
    results.at_most("the slowest question, p95", worst, GOAL_MS, "ms")
    results.without_goal("all questions, median", typical, "ms")
    results.without_goal("the largest page, gzip", size, "kB")


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site(), servers.web() as web:
        uids = fill()
        report(fetch_pages(web, uids))
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
