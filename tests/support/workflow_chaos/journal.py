"""What the runs of actions have written down."""

from pathlib import Path

from support.chaos import journal
from support.workflow_chaos import effect
from support.workflow_history.record import Effect, Mark

IMAGE = "chaos-effect"


class Journal(journal.Journal):
    """The journal of actions, and the image that writes it."""

    def provide(self) -> None:
        """Make the folders, and the image."""
        self.create(IMAGE, Path(effect.__file__))

    def read(self) -> list[Effect]:
        """Read all lines."""
        return [Effect(Mark(mark), *rest) for mark, *rest in self.lines()]

    def alive(self) -> list[str]:
        """Return the machines on which a run is alive."""
        return list(self.locked("machine-"))
