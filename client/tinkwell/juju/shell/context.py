"""What a command is given: a connected client, the model that is meant, and how its result is written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinkwell.juju.shell import model_name, output
from tinkwell.juju.shell.output import Format

if TYPE_CHECKING:
    from tinkwell.client import Client


@dataclass(frozen=True, slots=True)
class Desk:
    """How a command writes. `format` is the one that was asked for, or the command's default."""

    format: Format = Format.TABULAR
    is_quiet: bool = False

    def line(self, text: str) -> None:
        """Write a line of the result to standard output."""
        output.line(text)

    def note(self, text: str) -> None:
        """Say something beside the result on standard error."""
        if not self.is_quiet:
            output.note(text)

    def show(self, value: object, tabular: Callable[[], Iterable[str]] | None = None) -> None:
        """Write a JSON value as it was asked for; for people the lines of `tabular`, where there is one."""
        output.show(value, self.format, tabular)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Desk):
    """The same for a command that talks to the server. `namespace` is the model that it is about."""

    client: "Client"
    namespace: str = model_name.DEFAULT

    @property
    def model(self) -> str:
        """The model's name with that of its owner."""
        return model_name.qualified(self.namespace)

    async def check_model(self) -> None:
        """Raise `NotFound` for a model that is not there; the default one is made when it is needed first."""
        if self.namespace != model_name.DEFAULT:
            await self.client.namespaces.get(self.namespace)
