"""Pages that a link shares with readers who have no account."""
