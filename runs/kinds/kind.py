"""A kind of run: what its pages show, where lists count it, and what may be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_noop as _

from workers.config.methods import METHODS

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Lazy


@dataclass(frozen=True, eq=False)
class Origin:
    """An origin of runs. `slug` is the API's `kind` of them, `filters` select them in SQL."""

    slug: str
    filters: Mapping[str, bool]


LAUNCHED = Origin("launched", {"source__isnull": True, "external__isnull": True})
"""Runs that this site starts on its clusters. They have a RunConfig."""


@dataclass(frozen=True)
class ResultsPage:
    """The page with the results of all runs of a kind in an experiment. `route` is its URL's name; `link` and `hint`
    lead to it from the experiment if the kind is not listed there, `run_link` and `run_hint` from a run."""

    route: str
    link: str
    hint: str
    run_link: str
    run_hint: str


@dataclass(frozen=True)
class Examination:
    """A way to examine other runs. `setting` of the method's section names them: a list of at most `max_runs` if
    there may be several. It is empty if only their settings matter, such as the task of an audit.

    The method is the parameter that opens the launch form with them; the form copies the settings `copies` of the first
    run. `button` and `hint` lead there from a run that can be examined, `joint_button` and `joint_hint` from
    several.
    """

    method: str
    setting: str
    button: str
    hint: str
    max_runs: int = 1
    joint_button: str = ""
    joint_hint: str = ""
    copies: tuple[str, ...] = ("task", "model", "compute")

    @property
    def is_list(self) -> bool:
        """Return whether the setting is a list of runs."""
        return self.max_runs > 1


@dataclass(frozen=True)
class Resumption:
    """Sentences about the resume of a run: `note` for its next attempt, `message` and `preview` for the user, all empty
    if they depend on the checkpoint that it starts from; `refusal` if it has succeeded."""

    refusal: str
    note: str = ""
    message: str = ""
    preview: str = ""


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of run. Two kinds are equal only if they are the same object. Texts are marked for translation."""

    slug: str
    methods: tuple[str, ...]
    """Slugs of `workers.config.methods`. A method of no kind, which an import or an external run may have, is a
    training's."""
    tabs: tuple[str, ...]
    """Names of the tabs of its page, of `runs.run_page.tabs`."""
    resumption: Resumption
    essential: tuple[str, ...] = ()
    """Settings that the launch form shows without unfolding a section."""
    headline: tuple[str, ...] = ()
    """Metric keys that pages show first, in addition to those of the task."""
    origin: Origin = LAUNCHED

    examination: Examination | None = None
    """How it names the runs that it examines; None if it examines none."""
    is_listed: bool = True
    """Lists, statistics and comparisons that a reader has not narrowed read it. Others are counted next to them."""
    unlisted_text: Lazy | str = ""
    """How many of them a list leaves out; plural by n. For kinds that are not listed."""
    show_text: Lazy | str = ""
    """Link that shows them; plural by n. For kinds that are not listed."""
    results_page: ResultsPage | None = None

    origin_template: str = "run_page/launched.html"
    """How the run came here, in the head of its page."""
    results_template: str = "run_page/key_charts_section.html"
    no_curves_template: str = "run_page/no_curves.html"
    parent_label: str = _("Evaluation of")
    has_probe_results: bool = False
    """Its results are those of probes, which its page shows as a table; else they are series."""
    has_attack_results: bool = False
    """Its results are those of attacks on a reward, which its page shows as a chart and a table."""
    has_evaluated_steps: bool = False
    """It records the number of prompts once for each step that it evaluates."""
    lists_as_evaluation: bool = False
    """The page of its parent lists it with the parent's evaluations."""
    optimizes_reward: bool = False
    """It changes weights to raise a reward, so its page compares the reward with the gold measure."""
    counts_parts: bool = False
    """Its steps are parts of its work, and not updates of weights."""

    can_be_compared: bool = True
    """Its page offers the comparison with other runs."""
    can_be_judged: bool = True
    """Its page offers a tournament that judges its responses."""

    location_text: str = ""
    """Words that say where it ran; empty if this site runs it: then it has a RunConfig, attempts on clusters here, and
    can be cancelled here."""
    is_reported: bool = False
    """A program elsewhere reports it while it runs: its config is any JSON, paths, log and heartbeats are the
    program's."""
    has_progress: bool = True
    has_plain_note: bool = False
    """Its note is a sentence about the import, and not a user's text."""
    resume_refusal: str = ""
    cancel_refusal: str = ""
    move_refusal: str = ""
    """Why it cannot be held, released or moved in the queue."""
    rebuild_refusal: str = ""
    """Why its checkpoints cannot be rebuilt."""

    @property
    def method(self) -> str:
        """Return its first method, which the launch of such a run names."""
        return self.methods[0]

    @property
    def can_be_examined(self) -> bool:
        """Return whether evaluations and probes may read its weights, which a cluster of this site has."""
        return self.runs_here and any(METHODS[method].saves_weights for method in self.methods)

    @property
    def runs_here(self) -> bool:
        """Return whether a cluster of this site runs it."""
        return not self.location_text
