"""Real clusters on this one machine, brought up for the tests that need them, and what esweb does on them."""
