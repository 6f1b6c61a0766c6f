"""A suite becomes tasks, a task a process of its own and a row in the store."""
