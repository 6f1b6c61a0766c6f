"""Releases that keep their bounds at every joint of a set: the joints at which they do not are added one by one."""
