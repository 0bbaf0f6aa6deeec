"""Which pages have generated parts, and by what these are made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from support import page
from support.reference import command, error, setting, state, unit_event


@dataclass(frozen=True, slots=True)
class Part:
    """A page, and what makes its generated blocks: their text by their names."""

    page: str
    blocks: Callable[[], Mapping[str, str]]

    @property
    def path(self) -> Path:
        """The file of the page."""
        return page.DOCS / self.page

    def written(self, text: str) -> str:
        """Return the page with its generated blocks as they have to be; all else stays as it is."""
        for name, block in self.blocks().items():
            begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
            before, found, rest = text.partition(begin)
            if not found or end not in rest:
                raise ValueError(f"{self.page} has no lines {begin} and {end}")
            text = f"{before}{begin}\n{block}\n{end}{rest.partition(end)[2]}"
        return text


PARTS = (
    Part("reference/settings.md", setting.blocks),
    Part("reference/cli.md", command.blocks),
    Part("reference/states.md", state.blocks),
    Part("reference/errors.md", error.blocks),
    Part("reference/unit-events.md", unit_event.blocks),
)
