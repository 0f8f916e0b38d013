"""Sites of earlier releases as files, and the responses of their APIs: `0.1/` was made by version 0.1."""
