"""Django app for judging: pairs of responses, verdicts and ratings. It imports runs; runs never imports it."""
