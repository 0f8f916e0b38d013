import pytest

from runs.responses.diff import WORDS_AT_MOST, Piece, pieces


def test_what_was_left_out_and_what_was_put_in_stand_where_they_were():
    assert pieces("The capital is Madrid", "The city is Madrid") == [
        Piece("kept", "The "), Piece("gone", "capital "), Piece("new", "city "), Piece("kept", "is Madrid"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "answer"),
    [("", ""), ("", "a"), ("a", ""), ("a\n b  c", " a\tb c "), ("x " * 3 * WORDS_AT_MOST, "y x " * WORDS_AT_MOST)],
)
def test_the_pieces_make_up_both_answers(base, answer):
    found = pieces(base, answer)
    assert "".join(p.text for p in found if p.kind != "gone").split() == answer.split()
    assert "".join(p.text for p in found if p.kind != "new").split() == base.split()
    assert all(piece.text for piece in found)


def test_equal_answers_are_one_piece():
    assert pieces("Madrid", "Madrid") == [Piece("kept", "Madrid")]
