"""Small facts with short answers: the questions of the conciseness task.

Each fact has a question in one wording and in one direction only, so that no held-out fact can be read off a training
one. Pre-training sees all of them; reinforcement learning sees `TRAIN_FACTS` and is judged on `EVAL_FACTS`: facts that
the model knew, but was never rewarded for.
"""

from __future__ import annotations

from dataclasses import dataclass

EVAL_EVERY = 4


@dataclass(frozen=True)
class Fact:
    """A question and its shortest right answer."""

    question: str
    answer: str


CAPITALS = """
France Paris, Germany Berlin, Italy Rome, Spain Madrid, Portugal Lisbon, Greece Athens, Poland Warsaw, Norway Oslo,
Sweden Stockholm, Finland Helsinki, Ireland Dublin, Austria Vienna, Hungary Budapest, Russia Moscow, Turkey Ankara,
Egypt Cairo, Kenya Nairobi, Ghana Accra, Japan Tokyo, China Beijing, India Delhi, Iran Tehran, Iraq Baghdad,
Peru Lima, Chile Santiago, Cuba Havana, Canada Ottawa, Denmark Copenhagen, Belgium Brussels, Bulgaria Sofia,
Ukraine Kyiv, Croatia Zagreb, Serbia Belgrade, Romania Bucharest, Nepal Kathmandu, Qatar Doha
"""
OPPOSITES = """
hot cold, big small, up down, day night, black white, fast slow, rich poor, old young, wet dry, hard soft, open closed,
full empty, high low, long short, loud quiet, strong weak, light dark, early late, left right, happy sad, near far,
thick thin, true false, first last
"""
SPANISH = """
dog perro, cat gato, house casa, water agua, bread pan, milk leche, book libro, tree árbol, sun sol, moon luna,
fish pez, hand mano, door puerta, table mesa, red rojo, blue azul
"""
YOUNG = """
cat kitten, dog puppy, cow calf, horse foal, sheep lamb, pig piglet, hen chick, duck duckling, bear cub, goat kid,
deer fawn, frog tadpole
"""
SYMBOLS = """
gold Au, silver Ag, iron Fe, copper Cu, oxygen O, hydrogen H, helium He, carbon C, sodium Na, lead Pb, tin Sn, zinc Zn
"""
COLOURS = """
grass green, snow white, coal black, blood red, lemons yellow, the sky blue, chocolate brown, carrots orange,
flamingos pink, ash grey, lavender purple, milk white
"""
COUNTS = """
days are in a week 7, months are in a year 12, hours are in a day 24, legs does a spider have 8, legs does a dog have 4,
sides has a triangle 3, sides has a hexagon 6, wheels has a car 4, players has a football team 11, cards has a deck 52,
minutes are in an hour 60, eggs are in a dozen 12
"""
SUMS = """
3 + 5 8, 2 + 2 4, 7 + 6 13, 9 + 9 18, 4 + 7 11, 1 + 5 6, 8 + 6 14, 2 + 7 9, 5 + 5 10, 8 + 9 17, 6 + 9 15, 3 + 4 7,
2 + 1 3, 7 + 9 16, 8 + 4 12, 4 + 1 5, 7 + 7 14, 1 + 8 9, 8 + 8 16, 3 + 2 5, 6 + 4 10, 5 + 9 14, 6 + 6 12, 5 + 7 12
"""
FAMILIES = (
    ("What is the capital of {}?", CAPITALS),
    ("What is the opposite of {}?", OPPOSITES),
    ("What is the Spanish word for {}?", SPANISH),
    ("What is the young of a {} called?", YOUNG),
    ("What is the chemical symbol of {}?", SYMBOLS),
    ("What is the colour of {}?", COLOURS),
    ("How many {}?", COUNTS),
    ("What is {}?", SUMS),
)


def _family(wording: str, table: str) -> list[Fact]:
    rows = (row.strip().rsplit(" ", 1) for row in table.split(","))
    return [Fact(wording.format(subject), answer) for subject, answer in rows]


def _split() -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return (train, eval): every fourth fact of each family is held out, so both halves have the same kinds of
    question.

    The families are interleaved, so that the first few of either half are a fair sample of it.
    """
    train: list[tuple[float, Fact]] = []
    held_out: list[tuple[float, Fact]] = []
    for wording, table in FAMILIES:
        facts = _family(wording, table)
        for position, fact in enumerate(facts):
            half = held_out if position % EVAL_EVERY == EVAL_EVERY - 1 else train
            half.append((position / len(facts), fact))
    return _in_order(train), _in_order(held_out)


def _in_order(placed: list[tuple[float, Fact]]) -> tuple[Fact, ...]:
    return tuple(fact for _, fact in sorted(placed, key=lambda pair: pair[0]))


TRAIN_FACTS, EVAL_FACTS = _split()
FACTS = TRAIN_FACTS + EVAL_FACTS
