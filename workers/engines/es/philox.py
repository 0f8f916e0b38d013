"""Philox4x32-10, a counter-based random number generator (Salmon et al., SC 2011), in whole-number tensor operations.

A block of 128 random bits is a pure function of a 64-bit key and a 128-bit counter, so that any part of a stream can be
made anywhere, in any order, on any device, with the same bits. Words of 32 bits travel in int64 tensors, which every
device multiplies alike; a product of two words may wrap, but its bits are right.
"""

from __future__ import annotations

from torch import Tensor

WORD = 0xFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

Words = tuple[Tensor, Tensor, Tensor, Tensor]


def philox(counter: Words, key: tuple[Tensor, Tensor]) -> Words:
    """Four int64 tensors of words, each below 2³². The counter's have the full shape; the key's broadcast to it."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        # The low words keep what is above them until they meet a mask here: two masks a round fewer.
        c0 = (p1 >> 32).bitwise_xor_(c1).bitwise_xor_(k0).bitwise_and_(WORD)
        c2 = (p0 >> 32).bitwise_xor_(c3).bitwise_xor_(k1).bitwise_and_(WORD)
        c1, c3 = p1, p0
        k0, k1 = (k0 + KEY_STEPS[0]) & WORD, (k1 + KEY_STEPS[1]) & WORD
    return c0, c1 & WORD, c2, c3 & WORD
