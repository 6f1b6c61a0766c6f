"""The headlines of the README, a module a question."""
