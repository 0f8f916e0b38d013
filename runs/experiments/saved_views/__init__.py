"""Pages as a person saved them, by name."""
