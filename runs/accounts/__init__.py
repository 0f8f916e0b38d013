"""Pages and API of accounts: users, their tokens and secrets, passwords."""
