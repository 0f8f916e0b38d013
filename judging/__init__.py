"""Whose answer is better: pairs, verdicts and ratings. Looks at runs; runs never looks back."""
