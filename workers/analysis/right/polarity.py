"""Whether a sentence denies an answer that it names, names it among others, or only supposes it."""

from __future__ import annotations

import re

WINDOW = 120
"""Characters next to an answer that decide, on either side."""
PARENTHESIS = re.compile(
    r",\s?(?:in fact|actually|really|indeed|however|of course|i think|i believe|strictly speaking|technically"
    r"|necessarily)\s?,"
)
NO_DENIAL = re.compile(
    r"\bnot (?:only|just|merely|simply|sure|certain|surprisingly|to mention|(?:any |a )?doubt\w*)\b"
    r"|\bno (?:doubt|problem|question|surprise)\b|\bnothing (?:but|other than)\b|\bnone other than\b"
    r"|(?:n't|\bnot) (?:know|doubt|forget|worry)\b|\bwithout (?:a |any )?(?:doubt|question)\b|\bwhy not\b"
    r"|\bcan(?:not|'t) (?:help|be anything) but\b"
)
CLAUSE_END = re.compile(r"[,;:()□]|\b(?:but|however|although|though|because|since|whereas|while|rather it)\b")
DENIAL = re.compile(
    r"\b(?:not|never|cannot|neither|nor|isnt|arent|wasnt|hardly|no longer|rather than|instead of|other than"
    r"|anything but|opposed to|different from|unlike|except|false that|incorrect that|wrong that|untrue that)\b|n't\b"
)
DENIED_WORDS = 6
"""Words between a denial and the answer that it still denies."""
DENIED_AFTER = re.compile(
    r"[\"')\]]{0,3}\s?(?:(?:is|are|was|were|does|do|did|would|can|could|will|has)"
    r"(?:n't|\s(?:not|never|no longer|hardly))\b|cannot\b"
    r"|(?:is|are|was|were) (?:wrong|incorrect|false|untrue|inaccurate|mistaken|a mistake|a lie|the wrong)\b)"
)
SUPPOSED = re.compile(r"\b(?:if|whether|unless|suppose|supposing|imagine|pretend)\b")
CONCEDED = re.compile(r"\b(?:while|although|though|despite|even though)\b")
FILLER = r"[\"'(]{0,3}(?:(?:the|a|an|maybe|perhaps|possibly|probably|even|it is|it's|el|la|un|una) )?[\"'(]{0,3}"
OR_BEFORE = re.compile(rf"([^\W_][\w'-]{{0,40}})[\"')]{{0,3}} or {FILLER}$")
OR_AFTER = re.compile(rf"[\"')]{{0,3}},? or {FILLER}([^\W_][\w'-]{{0,40}})")
SLASH_BEFORE, SLASH_AFTER = re.compile(r"([^\W_]\w{0,40}) ?/ ?$"), re.compile(r" ?/ ?([^\W_]\w{0,40})")
NO_OTHER = frozenset({"so", "more", "simply", "just", "in", "as"})
"""Words after "or" that name no other answer."""
RETRACTION = re.compile(
    r"\s*[\"'(]?(?:no\s*(?:[,.!:;-]|$)|nope\b|wait\b|sorry\b|oops\b|correction\b|scratch that\b"
    r"|on second thought|i was wrong\b|i mean\b|actually,? (?:no|it(?:'s| is)|the answer is)\b"
    r"|(?:or|but) rather\b|that(?:'s| is) (?:wrong|incorrect|not (?:right|correct))\b)"
)


def clause_before(before: str) -> str:
    """Return the part of the clause before an answer, from the text of its sentence before it."""
    window = NO_DENIAL.sub(" ", PARENTHESIS.sub(" ", before[-WINDOW:]))
    ends = list(CLAUSE_END.finditer(window))
    return window[ends[-1].end() :] if ends else window


def is_denied(before: str, after: str) -> bool:
    """Return whether the sentence denies the answer between these texts."""
    if DENIED_AFTER.match(after[:WINDOW]):
        return True
    clause = clause_before(before)
    denials = list(DENIAL.finditer(clause))
    return bool(denials) and len(clause[denials[-1].end() :].split()) <= DENIED_WORDS


def is_supposed(before: str) -> bool:
    """Return whether the answer after this text is only a condition: "if it is true"."""
    return SUPPOSED.search(clause_before(before)) is not None


def is_conceded(before: str) -> bool:
    """Return whether the clause up to the answer opens with a concession: "while it is true that …"."""
    return CONCEDED.search(before[-WINDOW:]) is not None


def alternatives(before: str, after: str) -> list[str]:
    """Return the first words of the answers that the sentence offers beside the answer between these texts."""
    before, after = before[-WINDOW:], after[:WINDOW]
    matches = (OR_BEFORE.search(before), OR_AFTER.match(after), SLASH_BEFORE.search(before), SLASH_AFTER.match(after))
    return [match[1] for match in matches if match and match[1] not in NO_OTHER]


def is_retraction(sentence: str) -> bool:
    """Return whether a sentence takes back what stands before it."""
    return RETRACTION.match(sentence) is not None
