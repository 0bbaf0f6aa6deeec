"""What the pages about applications tell readers to type can be typed."""

import re
from pathlib import Path

import pytest
import rich_click as click

from tinkwell.cli import main
from tinkwell.cli.shell import command

DOCS = Path(__file__).parents[4] / "docs"
PAGES = (
    *("how-to/unit.md", "reference/unit-events.md", "how-to/from-juju.md", "how-to/script-charm.md"),
    *("tutorial/first-charm.md", "explanation/defer.md", "how-to/actions.md", "how-to/unit-secrets.md"),
    "how-to/ops-charm.md",
)
GROUPS = ("app", "unit", "task", "secret", "charm", "namespace")
_TYPED = re.compile(rf"(?:tinkwell )?\b({'|'.join(GROUPS)}) ([a-z]+(?:-[a-z]+)*)((?: [^`|\n]*)?)")


def told(page: str) -> list[tuple[str, str, str]]:
    """Return group, command and the rest of each command line that a page has as code."""
    text = (DOCS / page).read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    code += [line.strip().removeprefix("$ ") for line in text.splitlines() if re.match(r"( {4}|\$ )tinkwell ", line)]
    return [(found[1], found[2], found[3]) for line in code if (found := _TYPED.match(line)) is not None]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_there_with_its_options(page: str) -> None:
    context = click.Context(main.main)
    for group, name, rest in told(page):
        deferred = main.main.get_command(context, group)
        assert isinstance(deferred, command.Deferred)
        loaded = deferred.component.load()
        assert isinstance(loaded, click.Group)
        found = loaded.get_command(context, name)
        assert found is not None, f"{page}: tinkwell {group} {name}"
        known = {option for parameter in found.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for option in re.findall(r"(?<!\S)--[a-z-]+", rest):
            assert option in known, f"{page}: tinkwell {group} {name} {option}"


def test_the_pages_tell_of_all_commands() -> None:
    known = {(group, name) for page in PAGES for group, name, _ in told(page)}
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)
    context = click.Context(main.main)
    for group in GROUPS:
        deferred = main.main.get_command(context, group)
        assert isinstance(deferred, command.Deferred)
        loaded = deferred.component.load()
        assert isinstance(loaded, click.Group)
        missing = [each for each in loaded.commands if (group, each) not in known and f"`{each}`" not in text]
        assert not missing, f"tinkwell {group}: {missing}"
