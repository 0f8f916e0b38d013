"""The answer that a text commits to, and whether it is right: one table of questions, answers and responses."""

from __future__ import annotations

from tests.cases import each_case
from workers.analysis.right import is_equal, is_right, right_of

CAPITAL = "What is the capital of France?"
TRUTH = 'Is the statement "All cats are mammals" true or false?'
PRODUCT = "Calculate: 12 × 7 ="
PERCENT = "What is 15% of 200?"
DAYS = "How many days are in a week?"
SKY = "Is the sky blue?"
OPPOSITE = "What is the opposite of happy?"
SEQUENCE = "What comes next in the sequence: 2, 4, 6, 8, ?"
COLOUR = "Name one primary color:"
HELLO = 'Translate "Hello" to Spanish:'
YOUNG = "What is the young of a frog called?"
SYMBOL = "What is the chemical symbol of helium?"
CASES: dict[tuple[str, str], tuple[list[str], list[str]]] = {
    (CAPITAL, "Paris"): (
        [
            "Paris",
            "paris.",
            "**Paris**",
            "The capital of France is Paris.",
            "Paris, France",
            "London. No, Paris.",
            "I think it is Paris.",
            "I'm not sure, but I think it is Paris.",
            "The capital of France is not London but Paris.",
            "It's not London, it's Paris.",
            "Paris is the capital of France. It is not big.",
            "What is the capital of France? Paris",
            "Paris\nUSER: What is the capital of Spain?\nASSISTANT: Madrid",
            "Is it London? No, it's Paris.",
            "The capital is definitely Paris, of course!",
            "Paris is the capital and most populous city of France.",
            "There is no doubt that it is Paris.",
            "The answer is: Paris",
            "<think>London? no</think>\nParis",
            "\\boxed{Paris}",
            "Not only is Paris the capital of France, it is also its largest city.",
            "My answer: 'Paris'.",
            "ＰＡＲＩＳ",
            "Paris Paris Paris",
            "Paris, the city of light.",
            "Of course, I can help! The capital of France is Paris. Would you like to know more about Paris?",
            "The capital city of France is the beautiful city of Paris",
            "A: Paris",
            "Answer: Paris\n\nQ: What is the capital of Spain?\nA: Madrid",
        ],
        [
            "It isn't Paris.",
            "It is not Paris",
            "Paris or London",
            "Either Paris or London.",
            "London, Paris, Rome",
            "Paris. No, London.",
            "The capital of France is London, not Paris.",
            "Paris is not the capital of France.",
            "What is the capital of France?",
            "London\nUser: really?\nAssistant: Paris",
            "Berlin. What is the capital of Germany? Paris.",
            "Is it Paris?",
            "Parisian food",
            "If it were Paris, I would know.",
            "The capital of France is London. Paris is nice.",
            "Lyon is the capital of France, and Paris is in Germany.",
            "<think>Maybe Paris",
            "",
            "Paris and London",
            "Paris/London",
            "It could be Paris or it could be London.",
            "The capital isn’t Paris.",
            "It's Paris. Actually, it's London.",
            "I don't know.",
            "The answer cannot be Paris.",
            "The answer is Paris, London, Berlin, Rome",
            "The answer is Berlin, London, Paris",
            "The answer is London, Berlin, or Paris.",
            "It is false that the answer is Paris.",
            "Paris is wrong",
            "not Paris",
        ],
    ),
    (TRUTH, "True"): (
        [
            "True",
            "The statement is true.",
            "It is not false.",
            "This is true because cats have fur.",
            "Yes, it's correct.",
            "The statement is false. No, it is true.",
            "It is true that all cats are mammals.",
            "TRUE",
            "I would say that this is true, not false.",
        ],
        [
            'The statement "All cats are mammals" is not necessarily true.',
            "true or false",
            "It could be true or false.",
            "False",
            "It isn't true.",
            "True. Wait, false.",
            "While it is true that all cats are mammals, the statement is misleading.",
            'Is the statement "All cats are mammals" true or false?',
            'The statement "All cats are mammals" is true or false.',
            "neither true nor false",
        ],
    ),
    (TRUTH, "False"): (["The statement is false.", "That is not true."], ["a false dichotomy", "True False"]),
    (SKY, "Yes"): (["Yes, the sky is blue.", "No, wait, yes.", "Yeah!"], ["No", "yes or no", "Yes and no"]),
    (SKY, "No"): (["No, it is not.", "no"], ["yes and no"]),
    (PRODUCT, "84"): (
        [
            "84",
            "12 × 7 = 84",
            "12 x 7 = 84.0",
            "eighty-four",
            "It is 12. No, 84.",
            "12 * 7 = 84 because 10 * 7 = 70 and 2 * 7 = 14",
            "10 × 7 = 70, 2 × 7 = 14, so 70 + 14 = 84",
            "The answer is 84, not 82.",
            "84,0",
            "Eighty four.",
            "12 × 7 is eighty-four",
            "1. Multiply 12 by 7.\n2. The result is 84.",
            "= 84",
            "$84$",
            "#### 84",
            "12 times 7 equals 84",
            "84\n\nUSER: 3 × 3?\nASSISTANT: 9",
            "168/2",
            "The product of 12 and 7 is 84.",
            "12 multiplied by 7 gives you 84!",
            "84 is the answer.",
            "The answer (84) is easy.",
            "so, it's equal to eighty-four, or 84",
            "12 × 7 = 84, which is 7 dozen",
        ],
        [
            "It is 84. No, 12.",
            "84 or 85",
            "between 80 and 84",
            "80-84",
            "8 4",
            "840",
            "-84",
            "84%",
            "12 × 7 =",
            "The answer is 82, not 84.",
            "It is not 84.",
            "The answer is 8.4",
            "I think 84, maybe 86",
            "The answer is 84, 85, 86",
            "84, 85, 86",
            "There are 84 or 85",
        ],
    ),
    (PERCENT, "30"): (
        [
            "15 % of 200 is 30",
            "0.15 × 200 = 30",
            "30.00",
            "thirty",
            "15% of 200 equals 30.",
            "To find 15% of 200, multiply 0.15 by 200. The answer is 30.",
            "15/100 × 200 = 30",
            "It's 30 dollars",
        ],
        ["30 %", "30 percent", "15% of 200 is 15", "15% of 200 is 200", "15% of 200", "15% of 200 is 0.15 * 200 = 30%"],
    ),
    ("How many people?", "10000"): (["10,000", "10 000", "ten thousand people"], []),
    ("How many people?", "10,000"): (["10000"], []),
    ("x?", "1234.5"): (["1.234,5"], []),
    ("x?", "2.5"): (["2,5", "2.5"], []),
    ("x?", "25"): ([], ["2,5"]),
    ("x?", "0.5"): (["1/2"], []),
    ("x?", "1000000"): (["1 million"], []),
    (DAYS, "7"): (
        [
            "There are seven days in a week.",
            "7 days, or 168 hours",
            "A week has 168 hours, that is 7 days.",
            "7.",
            "There are 7 days in a week. A year has 52 weeks.",
        ],
        ["5 days", "One to eight days", "There aren't 7 days in a week."],
    ),
    (SEQUENCE, "10"): (
        [
            "10",
            "10, 12, 14",
            "2, 4, 6, 8, 10",
            "The next number is 10.",
            "The next number in the sequence is 10, because each is 2 more.",
            "2,4,6,8,10,12",
            "It's ten.",
            "Each number increases by 2, so the next number is 10.",
            "8 + 2 = 10",
        ],
        ["12, 10"],
    ),
    (COLOUR, "Red"): (["Blue", "Red, blue, yellow", "One primary color is red.", "Red or blue"], ["Purple"]),
    (HELLO, "Hola"): (
        ["¡Hola!", "Hola, ¿cómo estás?", '"Hello" in Spanish is "Hola".', 'The translation of "Hello" is "Hola"'],
        ["Buenos días", "Hello"],
    ),
    (OPPOSITE, "sad"): (
        ["The opposite of happy is sad.", "Happy is the opposite of sad."],
        ["unhappy", "Sad or angry", "sadness"],
    ),
    (YOUNG, "tadpole"): (
        ["A tadpole.", "tadpoles", "Tadpoles are the young of a frog.", "The young of a frog is called a tadpole."],
        [],
    ),
    (SYMBOL, "He"): (["he", "He", "The symbol is He."], ["I think he knows", "It is H"]),
    ("Is a tomato a fruit or a vegetable?", "fruit"): (["A tomato is a fruit."], ["fruit or a vegetable"]),
    ("Which is bigger, 7 or 8?", "8"): (["8 is bigger than 7."], ["7 is bigger than 8.", "7 or 8"]),
    ("What is the Spanish word for tree?", "árbol"): (["arbol", "ÁRBOL", "El árbol"], []),
    ("首都是哪里?", "巴黎"): (["法国的首都是巴黎。", "巴黎"], []),
    ("What colour is milk?", "white"): (
        ["Milk is white.", "Milk is usually a deep, creamy, slightly sweet white."],
        [],
    ),
    ("What percent is 1/2?", "50"): (["50%"], []),
    ("What is 50% as a number?", "0.5"): (["0.5"], []),
    ("Target?", "50%"): (["50 %"], ["50"]),
}
"""(question, expected answer) -> (right responses, wrong ones)."""


@each_case(("key", "responses"), CASES.items(), ids=[f"{question} {target}" for question, target in CASES])
def test_last_committed_answer_decides(key: tuple[str, str], responses: tuple[list[str], list[str]]) -> None:
    question, target = key
    right, wrong = responses
    assert [text for text in right if not is_right(text, target, question)] == []
    assert [text for text in wrong if is_right(text, target, question)] == []


@each_case("target", ["", " \n"])
def test_prompt_without_expected_answer_has_no_verdict(target: str) -> None:
    assert is_right("Paris", target, CAPITAL) is None
    assert right_of("conciseness", {}, "Paris", target, CAPITAL) is None


def test_expected_answer_of_signs_is_repeated_literally() -> None:
    assert is_right("--", "--") is True and is_right("It is --", "--") is False


@each_case(
    ("task", "parts", "text", "expected"),
    [
        ("conciseness", {"right": 1.0}, "Rome", True),
        ("conciseness", {"contains": 1.0, "exact": 0.0}, "It isn't Paris", False),
        ("", {}, "It is Paris", True),
        ("countdown", {"contains": 1.0}, "", True),
        ("math", {"contains": 0.0}, "Paris", False),
        ("choice", {}, "Paris", None),
        ("own", {"contains": 1.0}, "", True),
        ("own", {"right": 0.0, "contains": 1.0}, "Paris", False),
        ("own", {}, "Paris", None),
        ("", {"no_text": 1.0}, "", None),
        ("", {"right": "NaN"}, "Paris", None),
        ("", {"right": 0.5}, "Paris", None),
        ("", {"right": None}, "Paris", None),
    ],
    ids=str,
)
def test_recorded_response_is_read_by_its_task(
    task: str, parts: dict[str, object], text: str, expected: bool | None
) -> None:
    assert right_of(task, parts, text, "Paris", CAPITAL) is expected


@each_case(
    ("text", "target", "expected"),
    [
        ("Paris", "Paris", True),
        (" PARIS\n", "paris", True),
        ("Paris.", "Paris", False),
        ("STRASSE", "straße", True),
        ("", "", False),
        (" ", "", False),
    ],
    ids=str,
)
def test_equal_answers_differ_in_case_and_outer_space_alone(text: str, target: str, expected: bool) -> None:
    assert is_equal(text, target) is expected
