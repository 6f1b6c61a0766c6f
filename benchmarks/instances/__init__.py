"""Instances of each question for the suites, one self-registering file a question, found by scanning."""
