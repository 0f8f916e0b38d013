"""Prints the module in which translators find the words of ratings:  python -m judging.words_of_ratings"""

import sys

from judging.words_of_ratings import module

sys.stdout.write(module())
