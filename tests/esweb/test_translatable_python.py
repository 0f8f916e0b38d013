"""In a language that puts every looked-up text in brackets, all text outside of brackets is data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.translation import trans_real
from django.utils.translation.trans_real import CONTEXT_SEPARATOR, DjangoTranslation
from pytest_django.fixtures import Settings

from runs.access import Scope, give_role, link_text
from runs.metrics import X_AXES
from runs.models import Experiment, Run
from tests.runs.full_runs import a_bit_of_everything, end, make_run, record
from workers.config import RunConfig, config_fields

READ = ("aria-label", "title", "placeholder", "alt", "hx-confirm")
# What is typed or run is the same in every language.
VERBATIM = ("code", "kbd", "pre", "style", "svg")
WORD = re.compile(r"[^\W\d_]{2,}")
BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")
# Names, what the records below hold, examples of queries, and values that an address takes.
DATA = """
    esweb ada ES GRPO KL API JSON CSV OpenAPI UTC Markdown YAML SHA
    es-tiny seed grpo-tiny Concise Does it learn to be concise Imported
    Training iteration of dead warning Step Madrid Capital of Spain <script>alert(1)</script>
    state:failed es.sigma>0.01 kl<1 seed:1..3 name~concise es.sigma kl.max
    linear log auto mean median iqm range std se ci quartiles gaussian viewer member admin page seeds
"""


class Bracketed(DjangoTranslation):
    """A translation that returns ⟦the requested text⟧."""

    def gettext(self, message: str) -> str:
        # Django requests a text with a context as one text with this separator.
        return f"⟦{message.rpartition(CONTEXT_SEPARATOR)[2]}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)


class TextCollector(HTMLParser):
    """Collects what is read of a page: text, attributes that are shown or read aloud, and the words of figures."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in READ and value]
        if tag in (*VERBATIM, "script"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if not self.inside:
            self.texts.append(data)
        elif self.inside[-1] == "script" and '"layout"' in data:
            figure = json.loads(data)
            axes = [axis for name, axis in figure["layout"].items() if name.endswith("axis")]
            self.texts += [axis["title"]["text"] for axis in axes] + [trace["name"] for trace in figure["data"]]


def outside(page: str, data: set[str]) -> list[str]:
    """Return the pieces of the page with a word that is neither in brackets nor among the data."""
    words = TextCollector()
    words.feed(page)
    text = "\n".join(words.texts)
    while BRACKETED.search(text):
        text = BRACKETED.sub(" ", text)
    pieces = {" ".join(line.split()) for line in text.split("\n")}
    return sorted(piece for piece in pieces if set(WORD.findall(piece)) - data)


@pytest.fixture
def bracketed(settings: Settings) -> Iterator[None]:
    """Set up a site with the language of brackets, for clients that request German."""
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    before = dict(trans_real._translations)
    trans_real.get_languages.cache_clear()
    trans_real._translations["de"] = Bracketed("de", domain="django")
    yield
    trans_real._translations.clear()
    trans_real._translations.update(before)
    trans_real.get_languages.cache_clear()


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Create two seeds of ES and of GRPO, one of them interrupted."""
    new_runs = [make_run(experiment, name, n) for name in ("es-tiny", "grpo-tiny") for n in (0, 1)]
    for run in new_runs:
        record(run, a_bit_of_everything())
    end(new_runs[-1])
    Run.objects.filter(pk=new_runs[-1].pk).update(state="interrupted")
    return new_runs


@pytest.fixture
def data(runs: list[Run]) -> set[str]:
    """TextCollector that are the same in every language."""
    keys = [key for run in runs for key in run.series.values_list("key", flat=True)]
    choices = [
        str(choice)
        for setting in config_fields(RunConfig)
        for choice in (setting.path, setting.default, *setting.choices)
    ]
    uids = [run.uid for run in runs]
    configs = [json.dumps(run.config, ensure_ascii=False) for run in runs]
    return set(WORD.findall(" ".join([DATA, "ab" * 32, *keys, *choices, *uids, *configs, *X_AXES])))


@pytest.fixture
def reader(ada: User) -> Client:
    """Return the browser of an admin who requests the language of brackets."""
    give_role(ada, "admin")
    client = Client(headers={"accept-language": "de"})
    client.force_login(ada)
    return client


PAGES = (
    "/", "/experiments/", "/experiments/{e}/", "/experiments/{e}/?group=recipe&q=step>1", "/experiments/{e}/?q=x:1 kl<",
    "/experiments/{e}/?q=seed:9", "/experiments/{e}/?x=no&y=log&sort=no&col=nothing&after=1",
    "/experiments/{e}/launch/", "/experiments/{e}/launch/?clone={r}&with=es.sigma&value=0.1", "/experiments/{e}/edit/",
    "/experiments/{e}/launch/?evaluate={r}", "/experiments/{e}/launch/?probe={r}",
    "/experiments/{e}/?q=method:evaluate", "/runs/{r}/", "/runs/{i}/",
    "/runs/{r}/?x=wall&which=greedy&against=base&step=5", "/runs/{r}/log/", "/compare/",
    "/compare/?experiment={e}&smooth=0.6",
    "/compare/?run={r}&run={i}&run=gone&x=wall&y=log&smooth=9&config=everything&key=(", "/views/", "/bin/", "/palette/",
    "/import/",
    "/share/?page=run&run={r}", "/share/?page=compare&run={r}&run={i}", "/share/?page=experiment&experiment={e}",
    "/settings/tokens/", "/settings/password/", "/settings/people/", "/nowhere/",
)  # fmt: skip
FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/experiments/", {"name": ""}),
    ("/experiments/", {"name": "Concise"}),
    ("/experiments/{e}/bulk/", {"do": "nothing"}),
    ("/experiments/{e}/bulk/", {"do": "tag"}),
    ("/experiments/{e}/bulk/", {"do": "archive"}),
    ("/experiments/{e}/bulk/", {"do": "tag", "tag": "seed", "run": "{r}"}),
    ("/experiments/{e}/undo/", {}),
    ("/experiments/{e}/edit/", {"name": "Concise", "tags": "x" * 200}),
    ("/experiments/{e}/launch/", {"method": "es", "seeds": "x"}),
    ("/experiments/{e}/launch/check/", {"method": "es", "seeds": "5-1"}),
    ("/runs/{i}/cancel/", {}),
    ("/runs/{r}/resume/", {}),
    ("/runs/{i}/checkpoints/", {"step": "x"}),
    ("/runs/{i}/checkpoints/", {"step": "7"}),
    ("/settings/tokens/", {"name": "notebook", "scope": "ingest", "days": "1"}),
    ("/settings/people/", {"username": "ada", "role": "x"}),
    ("/views/", {"name": "", "page": "x"}),
    ("/views/", {"name": "seed", "page": "compare"}),
    ("/share/?page=run&run={r}", {"lifetime": "x"}),
    ("/share/?page=run&run={r}", {"take_back": "1"}),
)


def named(text: str, runs: list[Run]) -> str:
    """Return the address or value with this experiment and its runs in it."""
    return text.replace("{e}", str(runs[0].experiment_id)).replace("{r}", runs[0].uid).replace("{i}", runs[-1].uid)


@pytest.mark.usefixtures("bracketed")
def test_page_has_no_untranslatable_text(reader: Client, runs: list[Run], data: set[str]) -> None:
    left = [(page, outside(reader.get(named(page, runs)).content.decode(), data)) for page in PAGES]
    assert [(page, texts) for page, texts in left if texts] == []


@pytest.mark.usefixtures("bracketed")
def test_shared_page_has_no_untranslatable_text(ada: User, runs: list[Run], data: set[str]) -> None:
    uids = [run.uid for run in runs]
    scopes = {Scope.RUN: uids[:1], Scope.COMPARE: uids, Scope.EXPERIMENT: [runs[0].experiment_id]}
    for scope, ids in scopes.items():
        address = reverse("shared", args=[link_text(ada, scope, ids, "hour")])
        page = Client(headers={"accept-language": "de"}).get(address).content.decode()
        assert outside(page, data) == []


@pytest.mark.usefixtures("bracketed")
def test_reply_to_a_form_has_no_untranslatable_text(reader: Client, runs: list[Run], data: set[str]) -> None:
    left = []
    for address, form in FORMS:
        sent = {name: named(value, runs) for name, value in form.items()}
        answer = reader.post(named(address, runs), sent, follow=True)
        left.append((address, form, outside(answer.content.decode(), data)))
    assert [(address, form, texts) for address, form, texts in left if texts] == []


@pytest.mark.usefixtures("bracketed")
def test_numbers_for_browsers_have_machine_format(reader: Client, runs: list[Run]) -> None:
    page = reader.get(f"/runs/{runs[0].uid}/").content.decode()
    assert re.search(r'<progress value="0\.\d+"', page)


def test_the_test_sees_text_attributes_and_figures() -> None:
    figure = '{"layout": {"xaxis": {"title": {"text": "when"}}}, "data": [{"name": "⟦how ⟦much⟧⟧"}]}'
    page = f'<p title="Hi">⟦Hello⟧ ada 5</p><code>rm</code><script type="application/json">{figure}</script>'
    assert outside(page, {"ada"}) == ["Hi", "when"]
