"""What is written to files and read from outside: JSON, labels, numbers, text."""
