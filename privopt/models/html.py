"""How a model shows itself in a notebook."""

from __future__ import annotations

from html import escape

from privopt.arrays import Floats
from privopt.files.labels import Labels

_MOST = 20  # rows and columns shown


def html_table(caption: str, rows: Labels, columns: Labels, values: Floats) -> str:
    """An escaped HTML table of probabilities, cut to its first rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> "&lt;b&gt;" in html_table("table", ("<b>",), (0,), np.array([[1.0]]))
    True
    """
    head = "".join(f"<th>{escape(str(label))}</th>" for label in columns[:_MOST])
    body = "".join(
        f"<tr><th>{escape(str(label))}</th>"
        + "".join(f"<td>{value:.6g}</td>" for value in row[:_MOST])
        + "</tr>"
        for label, row in zip(rows[:_MOST], values, strict=False)
    )
    cut = " (cut)" if max(len(rows), len(columns)) > _MOST else ""
    return f"<table><caption>{escape(caption + cut)}</caption><tr><th></th>{head}</tr>{body}</table>"
