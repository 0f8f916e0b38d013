"""Pages and API of accounts: people, their tokens and secrets, passwords."""
