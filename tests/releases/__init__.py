"""Sites of earlier releases as files, and what their APIs answered: `0.1/` was made by version 0.1."""
