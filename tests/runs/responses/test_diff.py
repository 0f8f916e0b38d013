from runs.responses.diff import MAX_WORDS, Piece, diff_pieces
from tests.cases import each_case


def test_removed_and_inserted_words_are_in_their_positions():
    assert diff_pieces("The capital is Madrid", "The city is Madrid") == [
        Piece("kept", "The "), Piece("gone", "capital "), Piece("new", "city "), Piece("kept", "is Madrid"),
    ]  # fmt: skip


@each_case(
    ("base", "answer"),
    [("", ""), ("", "a"), ("a", ""), ("a\n b  c", " a\tb c "), ("x " * 3 * MAX_WORDS, "y x " * MAX_WORDS)],
)
def test_the_pieces_make_up_both_answers(base, answer):
    spans = diff_pieces(base, answer)
    assert "".join(p.text for p in spans if p.kind != "gone").split() == answer.split()
    assert "".join(p.text for p in spans if p.kind != "new").split() == base.split()
    assert all(piece.text for piece in spans)


def test_equal_answers_are_one_piece():
    assert diff_pieces("Madrid", "Madrid") == [Piece("kept", "Madrid")]
