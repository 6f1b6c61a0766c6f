"""What a report holds: quantities derived from rows, figures, tables, and the files they are written to."""
