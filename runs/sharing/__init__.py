"""Pages shared by link with readers who have no account."""
