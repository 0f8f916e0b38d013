"""What both engines say of a checkpoint that training cannot go on from."""


class NotResumable(ValueError):
    """The folder lacks what a resume needs, or belongs to another run. The message says which, and what to do."""
