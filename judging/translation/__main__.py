"""Print the module in which translators find the words of ratings:  python -m judging.translation"""

import sys

from judging.translation.messages import module

sys.stdout.write(module())
