"""What a command gets: a connected client, the model to work on, and functions that write its result."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkwell.juju.shell import model_name, output
from tinkwell.juju.shell.output import Format

if TYPE_CHECKING:
    from tinkwell.client import Client


@dataclass(frozen=True, slots=True)
class Desk:
    """Writes the output of a command. `format` is the requested format, or the command's default."""

    format: Format = Format.TABULAR
    is_quiet: bool = False

    def line(self, text: str) -> None:
        """Write a line of the result to standard output."""
        output.line(text)

    def note(self, text: str) -> None:
        """Write a note, which is not part of the result, to standard error."""
        if not self.is_quiet:
            output.note(text)

    def show(self, value: object, tabular: Callable[[], Iterable[str]] | None = None) -> None:
        """Write a JSON value in the requested format; as a table, write the lines of `tabular` if it is given."""
        output.show(value, self.format, tabular)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Desk):
    """The same for a command that talks to the server. `namespace` is the model to work on."""

    client: "Client"
    namespace: str = model_name.DEFAULT

    @property
    def model(self) -> str:
        """The model's name with its owner's name."""
        return model_name.qualified(self.namespace)

    async def check_model(self) -> None:
        """Raise `NotFound` if the model does not exist. The default model is created when it is first needed."""
        if self.namespace != model_name.DEFAULT:
            await self.client.namespaces.get(self.namespace)
