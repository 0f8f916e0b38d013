"""The error of both engines for a checkpoint that training cannot resume from."""


class NotResumable(ValueError):
    """The folder lacks what a resume needs, or belongs to another run. The message names the problem and a remedy."""
