"""Option values and options that several commands share."""

import difflib
import re
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import rich_click as click
from click.shell_completion import CompletionItem

from tinkwell.cli.shell.output import Format
from tinkwell.core import errors
from tinkwell.core.value import document

F = TypeVar("F", bound=Callable[..., object])
E = TypeVar("E", bound=StrEnum)


class Member(click.ParamType[E]):
    """A member of an enum. Users may write it in lower or upper case, and with `-` or `_`."""

    def __init__(self, kind: type[E]) -> None:
        self.kind = kind
        # Help shows this name in upper case: EVENT_TYPE for EventType.
        self.name = re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> E:
        """Find the member. The error for an unknown name suggests the most similar one."""
        wanted = str(value).strip().upper().replace("-", "_")
        if wanted in self.kind.__members__:
            return self.kind[wanted]
        names = list(self.kind.__members__)
        close = difflib.get_close_matches(wanted, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(names)}"
        raise click.BadParameter(f"{value!r} is unknown; {hint}", ctx=ctx, param=param)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list["CompletionItem[str]"]:
        """Offer the members in lower case, or in upper case if the user began in upper case."""
        names = (
            list(self.kind.__members__)
            if incomplete[:1].isupper()
            else [name.lower() for name in self.kind.__members__]
        )
        return [CompletionItem(name) for name in names if name.startswith(incomplete.replace("-", "_"))]


class JsonObject(click.ParamType[document.JsonObject]):
    """A JSON object. The value is its parsed form, in which numbers keep all their digits."""

    name = "json"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> document.JsonObject:
        """Parse the text strictly; errors name line and column."""
        # Click also converts values that it has converted before.
        if isinstance(value, dict):
            return value
        try:
            return document.parse_json_object("", str(value))
        except errors.InvalidField as error:
            self.fail(str(error), param, ctx)


class Assignment(click.ParamType[tuple[str, str]]):
    """A pair written `NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`; neither part may be empty."""
        # Click also converts values that it has converted before.
        if isinstance(value, tuple):
            return value
        name, equals, content = str(value).partition("=")
        if not (name and equals and content):
            self.fail(f"{value!r} is not NAME=VALUE, such as device_1=52:54:00:10:00:03", param, ctx)
        return name, content


def output_format(*formats: Format) -> Callable[[F], F]:
    """Add `-o/--output`, which chooses among the formats; the first one is the default."""
    names = [item.value for item in formats]
    return click.option(
        "-o",
        "--output",
        "output_format",
        type=click.Choice(formats, case_sensitive=False),
        default=formats[0],
        show_default=True,
        metavar="|".join(names),
        help="Format of the output.",
    )


object_format = output_format(Format.TABLE, Format.JSON, Format.YAML)
stream_format = output_format(Format.TABLE, Format.JSON, Format.YAML, Format.JSONL)
raw = click.option(
    "--raw", "is_raw", is_flag=True, help="Also on a terminal, print the output unchanged, with its control characters."
)
