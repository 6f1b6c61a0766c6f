"""Tables, figures and references of a run for a manuscript: LaTeX, Markdown, pictures and data."""
