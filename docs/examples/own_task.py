"""A task of your own, to copy and change. Here: answer a sum, in as few words as possible.

Try it where you are, without a server:

    ESWEB_TASK_PATHS=$PWD/docs/examples python -m workers.train docs/examples/run-own.json --out d

docs/guides/own-task.md says what may stand here and what happens when it goes wrong.
"""


class Sums:
    """`task.options.path` names this class: own_task:Sums."""

    def __init__(self, options):
        # `task.options.options` of the config, a dict as it stands there. Refuse what you cannot use: what you raise
        # here is shown to whoever launched the run, before anything is trained.
        unknown = set(options) - {"word_cost"}
        if unknown:
            raise ValueError(f"{min(unknown)} is not an option; the only one is word_cost")
        self.word_cost = float(options.get("word_cost", 0.1))

    def examples(self, split):
        # "train" or "eval": what is held out must not be trained on. A list, the same each time it is asked for.
        # "prompt" becomes a message of the user; give "messages" instead for more than one. "target" is shown to
        # people. All other keys are yours: `score` gets the same dict back.
        pairs = [(a, b) for a in range(2, 10) for b in range(2, 10)]
        chosen = [(a, b) for a, b in pairs if ((3 * a + b) % 4 == 0) == (split == "eval")]
        return [{"prompt": f"What is {a} + {b}?", "target": str(a + b), "sum": a + b} for a, b in chosen]

    def score(self, example, completion):
        # `completion` is the model's answer alone, and may be any text, the empty one too. Give a number, or a dict
        # with "reward" and with parts for people to see. "right", 0 or 1, is shown as accuracy.
        words = completion.replace(".", " ").replace("!", " ").split()
        right = str(example["sum"]) in words
        reward = right - self.word_cost * max(0, len(words) - 1)
        return {"reward": reward, "right": right, "words": len(words)}
