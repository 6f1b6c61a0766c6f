"""What the site changes in pages that are read in a checkout, too: files of the top folder become pages, and links follow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

TOP = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Files of the top folder, and the pages that stand for them."""
SHOWN = {"contributing.md": "CONTRIBUTING.md", "changes.md": "CHANGELOG.md"}
"""Pages that show such a file."""
WORKER, SHIPPED = "https://unpkg.com/iframe-worker/shim", "assets/iframe-worker.js"
"""What the search of pages in a folder is loaded from, and the copy that ships."""
DIALOG = 'data-md-component="search" role="dialog"'
"""The box of the search, which the theme gives no name."""
LINK = re.compile(r"\]\((?:\.\./)*(docs/)?([A-Za-z0-9_./-]+?)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Called for each page, before it is rendered."""
    name = page.file.src_uri
    text = (TOP / SHOWN[name]).read_text(encoding="utf-8") if name in SHOWN else markdown
    return LINK.sub(_on_site, text)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Called for each page, after it is rendered: nothing is loaded from elsewhere."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace(WORKER, up + SHIPPED).replace(DIALOG, f'{DIALOG} aria-label="Search"')


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for pages without a source, such as that of a wrong address."""
    return output_content.replace(WORKER, SHIPPED).replace(DIALOG, f'{DIALOG} aria-label="Search"')


def _on_site(link: re.Match[str]) -> str:
    inside, target, anchor = link.group(1), link.group(2), link.group(3) or ""
    if target in PAGES:
        return f"]({PAGES[target]}{anchor})"
    return f"]({target}{anchor})" if inside else link.group(0)
