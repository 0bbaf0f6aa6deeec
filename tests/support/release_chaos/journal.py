"""What the calls of resources have written down, and what resources hold."""

from pathlib import Path

from support.chaos import journal
from support.release_chaos import thing
from support.release_history.record import Effect, Mark

IMAGE = "chaos-thing"
_THING = "thing-"


class Journal(journal.Journal):
    """The journal of resources, and the image that writes it."""

    def provide(self) -> None:
        """Make the folders, and the image."""
        self.create(IMAGE, Path(thing.__file__))

    def read(self) -> list[Effect]:
        """Read all lines."""
        return [Effect(Mark(mark), *rest) for mark, *rest in self.lines()]

    def alive(self, release: str = "") -> list[str]:
        """Return the resources of a release, or of all, of which a call is alive that may change them."""
        return list(self.locked(f"lock-{release}." if release else "lock-"))

    def contents(self) -> dict[str, dict[str, str]]:
        """Return what resources hold, by release and path."""
        found: dict[str, dict[str, str]] = {}
        for path in sorted(self.folder.glob(f"{_THING}*")):
            release, _, resource = path.name.removeprefix(_THING).partition(".")
            # But for what a killed call was just writing.
            if "~" not in resource:
                found.setdefault(release, {})[resource] = path.read_text()
        return found
