"""Figures of what was solved. Matplotlib is imported when one is drawn."""
