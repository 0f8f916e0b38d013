"""The pages of judging, a module each."""
