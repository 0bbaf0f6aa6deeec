"""The command line's reference, docs/reference/cli.md, made of the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import rich_click as click

from support.reference import table
from tinkwell.cli import main
from tinkwell.cli.shell import command

ROOT = "tinkwell"
# Every command has these.
_COMMON = ("--help",)
_DEFAULT = re.compile(r"\s*\[default: (.*?)\]$")


@dataclass(frozen=True, slots=True)
class Shown:
    """A command as the command line shows it."""

    path: str
    command: click.Command
    context: click.Context

    @property
    def options(self) -> list[click.Option]:
        """Its options, but for those that are hidden and those that all commands have."""
        found = [each for each in self.command.get_params(self.context) if isinstance(each, click.Option)]
        return [each for each in found if not each.hidden and each.opts[-1] not in _COMMON]


def every() -> Iterator[Shown]:
    """Yield all commands and groups, each group before what is in it."""
    yield from _below(Shown(ROOT, main.main, click.Context(main.main, info_name=ROOT)))


def _below(shown: Shown) -> Iterator[Shown]:
    yield shown
    if not isinstance(shown.command, click.Group):
        return
    for name in shown.command.list_commands(shown.context):
        found = shown.command.get_command(shown.context, name)
        loaded = found.component.load() if isinstance(found, command.Deferred) else found
        assert loaded is not None
        yield from _below(
            Shown(f"{shown.path} {name}", loaded, click.Context(loaded, info_name=name, parent=shown.context))
        )


def blocks() -> dict[str, str]:
    """Return the list of all commands, and what each of them takes."""
    commands = list(every())
    rows = [(f"[`{each.path}`](#{_anchor(each)})", _summary(each)) for each in commands if _is_leaf(each)]
    sections = "\n\n".join("\n".join(_section(each)) for each in commands)
    return {"list": "\n".join(table.lines(("command", "does"), rows)), "commands": sections}


def _is_leaf(shown: Shown) -> bool:
    return not isinstance(shown.command, click.Group)


def _anchor(shown: Shown) -> str:
    return shown.path.replace(" ", "-")


def _summary(shown: Shown) -> str:
    return _text(shown.command.help or "").split("\n\n")[0]


def _text(help_text: str) -> str:
    """Return a help text as Markdown: `\\b` keeps the lines of a paragraph as they are."""
    kept = []
    for part in inspect.cleandoc(help_text).split("\n\n"):
        lines = part.splitlines()
        if lines and lines[0].strip() == "\b":
            kept.append("\n".join(("```text", *lines[1:], "```")))
        else:
            kept.append(" ".join(line.strip() for line in lines))
    return "\n\n".join(kept)


def _section(shown: Shown) -> Iterator[str]:
    depth = "##" if shown.path.count(" ") < 2 and not _is_leaf(shown) else "###"
    yield f"{depth} {shown.path}"
    yield ""
    usage = " ".join(shown.command.collect_usage_pieces(shown.context))
    yield f"`{shown.path} {usage}`"
    yield ""
    yield _text(shown.command.help or "")
    rows = [(named(option), kind(option, shown.context), default(option), meaning(option)) for option in shown.options]
    if rows:
        yield ""
        yield from table.lines(("option", "value", "default", "meaning"), rows)


def named(option: click.Option) -> str:
    """Return the names of an option, and its variable."""
    names = [table.code(name) for name in (*option.opts, *option.secondary_opts)]
    return ", ".join([*names, *(table.code(name) for name in variables(option))])


def variables(option: click.Option) -> list[str]:
    """Return the variables that an option is read from."""
    found = option.envvar
    return [found] if isinstance(found, str) else list(found or ())


def kind(option: click.Option, context: click.Context) -> str:
    """Return what an option takes; nothing for a switch."""
    if option.is_flag or option.count:
        return ""
    taken = option.make_metavar(context)
    taken = taken[1:-1] if taken.startswith("[") else taken
    match option.type:
        case click.IntRange() | click.FloatRange() as bounded if option.metavar is None:
            return f"{_number(bounded.min)} to {_number(bounded.max)}"
        case _:
            is_told = "epeat" in (option.help or "")
            return f"{taken}, repeatable" if option.multiple and not is_told else taken


def _number(bound: float | None) -> str:
    return "any" if bound is None else f"{bound:,.10g}"


def default(option: click.Option) -> str:
    """Return an option's default, as it or its help says it."""
    if found := _DEFAULT.search(option.help or ""):
        return found[1]
    value = option.to_info_dict()["default"]
    if value is None or callable(value) or option.is_flag or value in ((), []) or not option.show_default:
        return "required" if option.required else ""
    return f"{value:g}" if isinstance(value, float) else str(getattr(value, "value", value))


def meaning(option: click.Option) -> str:
    """Return an option's help without its default."""
    return _DEFAULT.sub("", option.help or "")
