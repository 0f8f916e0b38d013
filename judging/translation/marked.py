"""Marks words of ratings for translators. Printed by `python -m judging.translation`: `make words`."""

# ruff: noqa: E501 (a sentence is one text for its translator, however long)

from django.utils.translation import gettext_noop as _

WORDS = (
    _("{who} was in no comparison that counts: it has no rating."),
    _("{who} won every comparison: its rating has no upper bound, so it has none."),
    _("{who} lost every comparison: its rating has no lower bound, so it has none."),
    _("No comparison joins these, so nothing says which is better: {sets}."),
    _("Ratings hold only within each of these groups, and are not comparable between them: {sets}."),
    _("Wins and ties of {names} leave {ties} ratings without bounds: they have none. Ties as half-wins, or more votes, give some."),
    _("All votes come from one cluster ({units} are drawn): nothing says how sure the ratings are."),
    _("Intervals over {clusters} clusters ({units} are drawn) are too narrow: take {few} or more."),
    _("Intervals over {clusters} clusters ({units} are drawn) are only rough: take {few} or more."),
    _("In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: intervals leave them out."),
    _("In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: probabilities of ranks leave them out."),
    _("In {failed} of {all} resamples there are no ratings, as where somebody is unbeaten, winless or unconnected: at {level} there are no intervals. More votes or a prior give some."),
    _("There is no vote that counts, so there are no ratings."),
    _("{anchor} is not comparable with everybody: who is not has no anchored rating."),
    _("Every pair that met was given {prior} wins each way: ratings are drawn together by that."),
    _("{failed} of {all} judgments failed; they count for nobody."),
    _("No vote says what the controls ask for."),
    _("{name} is the same in every comparison: it explains nothing"),
    _("one of the controls follows from the others and from who met whom: it cannot be told apart"),
    _("{votes} votes in {clusters} clusters are too few for {effects} effects"),
    _("who met whom and the controls together tell winners from losers without exception: no finite effect fits"),
    _("n/a: chance alone agrees always where one label is all that was used"),
    _("n/a: there is no item that both judged"),
    _("n/a: there is no item that both decided"),
    _("n/a: κ is of two raters, or of as many on every pair; of others there is α"),
    _("n/a: no decided vote is on answers of known, unequal length"),
    _("n/a: no decided vote says who stood first"),
    _("n/a: no pair was judged both ways round"),
    _("n/a: no decided vote is on two answers that it scored unequally"),
    _("n/a: they never met"),
    _("prompts"),
    _("annotators"),
    _("prompts and annotators"),
    _("votes"),
    _("half-win"),
    _("davidson"),
)  # fmt: skip
