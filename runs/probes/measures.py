"""Measures of probes: their titles, what each estimates, what it would be by chance, and what n counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import spoken

Form: TypeAlias = Literal["tensors", "line", "table", "pairs"]
"""Form in which a measure is drawn: heat maps of tensors, lines over x, a table, or pairs of tensors."""

PROBES = {
    "magnitude": _("Size of the change"),
    "spectrum": _("Spectrum of the change"),
    "cosine": _("Cosine of two changes"),
    "overlap": _("Overlap of subspaces"),
    "audit": _("Audit of shared noise"),
    "interpolation": _("Line between two models"),
    "perturbation": _("Random perturbations"),
    "curvature": _("Curvature along the change"),
}
"""Titles of the probes, in the order in which they run."""
NO_CHANCE = _("There is no value by chance to compare with.")
BY_MATRICES = _("That of random Gaussian matrices of the same shape and rank: prediction interval (t) over the draws.")
BY_SUBSPACES = _("That of random subspaces of the same dimensions: prediction interval (t) over the draws.")
BY_SIGNS = _("No effect: 95 % of the values after random changes of the signs of the differences.")


@dataclass(frozen=True)
class ProbeMeasure:
    """A measure of a probe, and its texts.

    estimator: what is estimated; null: what would be expected by chance; counted: what n counts. x: name of the
    position on a curve, axis: its symbol for the page's script. tensor: name of what the field `tensor` holds, if that
    is not a tensor. y: title of the vertical axis.
    """

    probe: str
    key: str
    title: str
    estimator: str
    null: str
    counted: str
    form: Form = "tensors"
    x: str = ""
    tensor: str = ""
    axis: str = ""
    y: str = ""
    is_log: bool = False
    """Whether both axes of its chart are logarithmic."""
    is_share: bool = False

    @property
    def value(self) -> str:
        """Return the value of the parameter that selects it."""
        return f"{self.probe}/{self.key}"


ELEMENTS, PROMPTS = _("elements"), _("prompts")
MEASURES = (
    ProbeMeasure(
        "magnitude", "norm", _("Norm of the change"), _("‖δ‖₂ of the change δ = tuned − base, in float32."),
        _("For ES: a random walk with the coefficients c of the replay log, √(Σc² · n), with its χ² band. For other "
          "methods there is none."), ELEMENTS),
    ProbeMeasure(
        "magnitude", "relative_norm", _("Change relative to the base"), _("‖δ‖₂ / ‖base‖₂."),
        _("That of the norm, divided by ‖base‖₂."), ELEMENTS),
    ProbeMeasure(
        "magnitude", "norm_by_step", _("Norm of the change at each step"), _("‖δ‖₂ of the whole model at a step."),
        _("For ES: a random walk up to that step."), ELEMENTS, "line", _("step"), axis="step", y="‖δ‖₂", is_log=True),
    ProbeMeasure(
        "magnitude", "growth_exponent", _("Exponent of growth"),
        _("Slope of log ‖δ‖ against log step, with the 95 % interval by which random walks of the run vary."),
        _("For ES: the median and 95 % of 4000 random walks with the coefficients of the replay log. For other "
          "methods: 0.5, that of a random walk of equal steps. A steady drift has 1."), _("steps"), "table"),
    ProbeMeasure(
        "spectrum", "effective_rank", _("Effective rank"),
        _("exp of the entropy of σᵢ / Σσ, with the singular values σ of the change."), BY_MATRICES, ELEMENTS),
    ProbeMeasure(
        "spectrum", "stable_rank", _("Stable rank"), _("‖δ‖²_F / σ₁², with the largest singular value σ₁."),
        BY_MATRICES, ELEMENTS),
    ProbeMeasure(
        "spectrum", "density", _("Density"),
        _("(Σ|δ|)² / (n Σδ²): 1 if all elements change equally, 1/n if a single one does."),
        _("2/π, that of Gaussian elements, with a band by the delta method."), ELEMENTS),
    ProbeMeasure(
        "spectrum", "unchanged", _("Unchanged elements"), _("Share of the elements with δ = 0."), NO_CHANCE, ELEMENTS,
        is_share=True),
    ProbeMeasure(
        "cosine", "cosine", _("Cosine of two changes"), _("⟨δ₁, δ₂⟩ / (‖δ₁‖ ‖δ₂‖) of the same tensor in two runs."),
        _("0 ± 1.96/√n, that of independent directions. For the whole model: those with the norms of the tensors."),
        ELEMENTS),
    ProbeMeasure(
        "overlap", "overlap_out", _("Overlap of outputs"),
        _("‖U₁ᵀU₂‖²_F / k of the first k left singular vectors of two changes."), BY_SUBSPACES, ELEMENTS),
    ProbeMeasure(
        "overlap", "overlap_in", _("Overlap of inputs"),
        _("‖V₁ᵀV₂‖²_F / k of the first k right singular vectors of two changes."), BY_SUBSPACES, ELEMENTS),
    ProbeMeasure(
        "audit", "shared_noise", _("Shared noise"),
        _("Cosine of the changes of two tensors of one model that have equally many elements, or of as many of their "
          "first elements."),
        _("±3/√n around 0 for a single pair of independent noise. The verdict corrects for the number of pairs."),
        ELEMENTS, "pairs"),
    ProbeMeasure(
        "interpolation", "reward", _("Reward along the line"),
        _("Mean greedy reward of the weights (1 − t) A + t B; interval by bootstrap over prompts."),
        _("A straight line between the ends; 95 % of its values after random changes of signs."), PROMPTS, "line",
        _("t, share of the second model"), axis="t", y=_("reward")),
    ProbeMeasure(
        "interpolation", "barrier", _("Barrier"),
        _("Largest (1 − t) R(A) + t R(B) − R(t) of the line, at its t; interval by bootstrap over prompts."),
        _("The largest of the line after random changes of signs: above 0, because the largest is chosen."),
        PROMPTS, "table", _("t, share of the second model")),
    ProbeMeasure(
        "perturbation", "change", _("Change of the reward"),
        _("Mean reward of θ + σε minus that of θ, mean over draws of the noise ε with a t interval."), BY_SIGNS,
        _("draws"), "line", "σ", _("group of tensors"), axis="sigma",
        y=_("change of the reward")),
    ProbeMeasure(
        "perturbation", "change_by_draw", _("Change of the reward by draw"),
        _("Mean reward of θ + σε minus that of θ, for each draw of the noise ε."), BY_SIGNS, PROMPTS, "table", "σ",
        _("group of tensors")),
    ProbeMeasure(
        "perturbation", "pass_at_k", _("pass@k"),
        _("Probability that at least one of k greedy responses of perturbed models, or one of k samples at a "
          "temperature, is correct; mean over prompts."), NO_CHANCE, PROMPTS, "line", "k", _("source of responses"),
        axis="k", y=_("share of prompts"), is_share=True),
    ProbeMeasure(
        "curvature", "curvature", _("Curvature along the change"),
        _("vᵀHv along v = δ/‖δ‖, with the Hessian H of the mean negative log-likelihood per token of the run's stored "
          "greedy responses, at the tuned weights. Of a tensor: its part v_l · (Hv)_l."),
        _("That of random directions with the norm of v in each tensor: prediction interval (t) over the draws."),
        _("tokens")),
)  # fmt: skip
"""All measures, by probe in the order of PROBES."""


def probe_title(probe: str) -> str:
    """Return the title of a probe in the reader's language; the name of an unknown one."""
    return gettext(PROBES[probe]) if probe in PROBES else probe


def measure_of(probe: str, key: str) -> ProbeMeasure:
    """Return the measure in the reader's language. One that this version does not know has its key as its title, and is
    a table."""
    known = next((measure for measure in MEASURES if (measure.probe, measure.key) == (probe, key)), None)
    if known is None:
        return ProbeMeasure(probe, key, key, "", "", "n", "table")
    return replace(
        known, title=spoken(known.title), estimator=spoken(known.estimator), null=spoken(known.null),
        counted=spoken(known.counted), x=spoken(known.x), tensor=spoken(known.tensor), y=spoken(known.y),
    )  # fmt: skip


def place(probe: str, key: str) -> tuple[int, str, int, str]:
    """Return the key by which measures are in the order of MEASURES; unknown ones come last."""
    probes, keys = list(PROBES), [(measure.probe, measure.key) for measure in MEASURES]
    at_probe = probes.index(probe) if probe in PROBES else len(probes)
    return at_probe, probe, keys.index((probe, key)) if (probe, key) in keys else len(keys), key
