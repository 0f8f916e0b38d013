"""Safety alignment: answer helpfully at a bounded cost (Dai et al., "Safe RLHF", arXiv 2310.12773).

    maximise  mean R   subject to   J_C = mean C + d ≤ 0         as        fitness = mean R − λ · mean C

task.py         the task: prompts, and scores R with the part `cost` = C
lagrange.py     the rules that move λ; numbers in, numbers out
penalty.py      R − λ·C of each answer, with its options
prompt_file.py  PKU-SafeRLHF's JSONL
splits.py       the prompts of training and of evaluation
selection.py    a selection that keeps the shares of its buckets; `python -m workers.tasks.safety.select` writes one
scorer.py       the scorer, and waiting for it while it fails
"""

from workers.tasks.safety.lagrange import Multiplier, Rule
from workers.tasks.safety.task import Safety

__all__ = ["Multiplier", "Rule", "Safety"]
