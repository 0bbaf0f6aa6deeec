"""What scripts print and warn of in the commands for charts, which have no log."""

from pathlib import Path

import pytest
from unit.provisioner.chart.conftest import CommandLine

SCRIPT = """print("loads")
log.warning("loads too")
function init(events)
  events.on("pre-render", 0, function ()
    print("prints", 1)
    print("two\\nlines \\27[2J")
    log.warning("careful")
  end)
  events.on("post-render", 0, function (name, namespace, chart, values)
    values.x = 1
  end)
  events.on("pre-lint", 0, function ()
    print("before it fails")
    if FAILS then fail("no") end
  end)
end
"""
LINES = ["lua/init.lua: loads", "lua/init.lua: prints\t1", "lua/init.lua: two", r"lua/init.lua: lines \u001b[2J"]
WARNINGS = [
    "lua/init.lua: the script warns: loads too",
    "lua/init.lua:4: the handler of pre-render warns: careful",
    "lua/init.lua:9: its change of values.x at post-render is dropped",
]


def files(fails: str = "false") -> dict[str, str]:
    return {"ext/lua/init.lua": SCRIPT.replace("FAILS", fails), "values.yaml": "a: 1\n"}


def under(chart: str, lines: list[str]) -> list[str]:
    return [f"{chart}/ext/{line}" for line in lines]


def test_lint_counts_warnings_and_shows_lines(cli: CommandLine) -> None:
    chart = cli.chart(files())
    code, output, error = cli.run("lint", chart)
    assert code == 0
    warnings = [line.removeprefix("WARNING  ") for line in output.splitlines() if line.startswith("WARNING")]
    assert warnings == under(chart, WARNINGS)
    assert output.endswith("0 errors, 3 warnings\n")
    assert error.splitlines() == under(chart, [*LINES, "lua/init.lua: before it fails"])
    assert cli.run("lint", chart, "--quiet")[2] == ""
    assert cli.run("lint", chart, "--strict")[0] == 1


def test_lint_shows_what_was_printed_before_a_handler_fails(cli: CommandLine) -> None:
    chart = cli.chart(files("true"))
    code, output, error = cli.run("lint", chart)
    assert code == 1
    assert output.endswith("1 error, 3 warnings\n")
    assert error.splitlines()[-1] == f"{chart}/ext/lua/init.lua: before it fails"


def test_template_keeps_them_apart_from_the_manifest(cli: CommandLine) -> None:
    chart = cli.chart(files())
    code, output, error = cli.run("template", chart)
    assert (code, output) == (0, "")
    told = error.splitlines()
    assert [line for line in told if line.startswith("Warning: ")] == [
        f"Warning: {each}" for each in under(chart, WARNINGS)
    ]
    assert [line for line in told if not line.startswith("Warning: ")] == under(chart, LINES)


@pytest.mark.parametrize("name", ["lua/init.lua: loads", "Warning: "])
def test_package_shows_them_too(cli: CommandLine, tmp_path: Path, name: str) -> None:
    code, _, error = cli.run("package", cli.chart(files()), "-d", str(tmp_path / "out"))
    assert code == 0
    assert name in error
