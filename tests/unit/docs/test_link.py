"""Every link of the documentation leads somewhere, and every page can be found from its index."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import page

ROOT = page.DOCS.parent
PAGES = [*sorted(page.DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md")), ROOT / "bench/README.md"]
# A page by its path from the repository's top, as code and error messages name it.
_NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")


def anchors(text: str) -> set[str]:
    """Return the names that GitHub gives to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", page.without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the anchor of each link to a file of the repository."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.without_blocks(text)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield path, anchor


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(path: Path) -> None:
    for name, anchor in links(path.read_text(encoding="utf-8")):
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), name
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{name}#{anchor}"


def test_the_index_has_every_page() -> None:
    index = page.DOCS / "README.md"
    linked = {(page.DOCS / name).resolve() for name, _ in links(index.read_text(encoding="utf-8"))}
    assert not {path for path in page.DOCS.rglob("*.md") if path != index} - linked


def test_pages_that_code_names_are_there() -> None:
    roots = ("bench", "client", "core", "examples", "migrations", "protos/tinkwell", "provisioner", "sandbox", "server")
    files = [
        path
        for root in roots
        for path in (ROOT / root).rglob("*.*")
        if path.suffix in {".py", ".sql", ".proto", ".yaml"}
    ]
    named = {(path, name) for path in files for name in _NAMED.findall(path.read_text(encoding="utf-8"))}
    assert len(named) >= 10
    assert not {(path, name) for path, name in named if not (ROOT / name).exists()}
