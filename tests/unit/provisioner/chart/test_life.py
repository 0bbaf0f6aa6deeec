"""What the scripts of charts do in the commands for charts, which need no server."""

import importlib.metadata
import json
from pathlib import Path

import pytest
from unit.provisioner.chart.conftest import EXAMPLES, CommandLine

from tinkwell.provisioner.release.lifecycle.listener import ListenerRequest, Registration

SCRIPT = """
function init(events)
  events.on("pre-render", 0.5, function (name, namespace, chart, values, manifest, context)
    values.text = (values.text or "none") .. " of " .. chart.name .. " " .. tostring(context.config.dry_run)
  end)
  events.on("post-validate", 0.5, function (name, namespace, chart, values, manifest, context)
    context.objects.extra = nil
  end)
  events.on("EVENT", 0.5, function () fail("EVENT is heard") end)
end
"""
TEMPLATE = "resources: {web: {type: acme/web, config: {text: '{{ values.text }}'}}, extra: {type: acme/extra}}\n"


def files(event: str) -> dict[str, str]:
    return {"ext/lua/init.lua": SCRIPT.replace("EVENT", event), "templates/a.yaml": TEMPLATE}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A function beside this program that hears all events; gives their names."""
    heard: list[str] = []
    real = importlib.metadata.entry_points

    class Point:
        name = "acme"

        def load(self) -> object:
            return register

    def register(events: Registration) -> None:
        for event in ALL:
            events.on(event, 0, hear)

    def hear(request: ListenerRequest) -> None:
        heard.append(request.event)

    def entry_points(group: str) -> object:
        return [Point()] if group == "tinkwell.lifecycle" else real(group=group)

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    return heard


LOADED = ["chart-loaded"]
RENDERED = ["pre-render", "post-render", "pre-validate", "post-validate"]
ALL = [*LOADED, *RENDERED, "pre-install", "post-template", "pre-lint", "pre-package", "post-package", "wait", "ready"]


def test_a_template_shows_what_handlers_make_of_it(cli: CommandLine) -> None:
    found = cli.json("template", cli.chart(files("pre-lint")), "--set", "text=x")
    assert found["manifest"]["resources"] == {"shop:web": {"type": "acme/web", "config": {"text": "x of shop true"}}}


@pytest.mark.parametrize(
    ("command", "event", "others"),
    [
        ("template", "post-template", ()),
        ("package", "pre-package", ("-d", "OUT")),
        ("package", "post-package", ("-d", "OUT")),
        ("template", "post-render", ()),
    ],
)
def test_an_event_of_a_command_may_fail_it(
    cli: CommandLine, tmp_path: Path, command: str, event: str, others: tuple[str, ...]
) -> None:
    given = [str(tmp_path / "out") if each == "OUT" else each for each in others]
    error = cli.fails(command, cli.chart(files(event)), *given)
    assert f"/ext/lua/init.lua:9: the handler of {event} for shop failed: {event} is heard" in error
    assert (tmp_path / "out" / "shop-1.0.0.tgz").exists() == (event == "post-package")


@pytest.mark.parametrize("event", ["pre-install", "ready", "pre-package", "wait", "pre-upgrade"])
def test_what_is_about_an_operation_is_not_heard_by_template(cli: CommandLine, event: str) -> None:
    assert cli.ok("template", cli.chart(files(event)))


def test_lint_names_handlers_that_fail_or_cannot_be_loaded(cli: CommandLine) -> None:
    chart = cli.chart(files("pre-lint"))
    code, output, _ = cli.run("lint", chart)
    assert code == 1
    assert f"{chart}/ext/lua/init.lua:9: the handler of pre-lint for shop failed: pre-lint is heard" in output
    broken = cli.chart({"ext/lua/b.lua": "function init(events)\n  events.on('pre-rendr', 0, print)\nend\n"}, "broken")
    code, output, _ = cli.run("lint", broken)
    assert code == 1
    assert f'{broken}/ext/lua/b.lua:2: "pre-rendr" is no event that handlers hear' in output
    cli.ok("lint", cli.chart(files("post-template"), "fine"), "--strict")


def test_a_chart_without_scripts_is_heard_in_python(cli: CommandLine, tmp_path: Path, installed: list[str]) -> None:
    chart = cli.chart({"templates/a.yaml": TEMPLATE})
    expected = {
        "template": [*LOADED, *RENDERED, "post-template"],
        "lint": [*LOADED, *RENDERED, "pre-lint"],
        "package": [*LOADED, "pre-package", "post-package"],
    }
    found = {}
    for command in expected:
        installed.clear()
        others = ["-d", str(tmp_path / "out")] if command == "package" else ["--set", "text=x"]
        assert cli.run(command, chart, *others)[0] == 0
        found[command] = [*installed]
    assert found == expected


def test_the_example_with_scripts_is_what_its_page_says(cli: CommandLine) -> None:
    cli.ok("lint", str(EXAMPLES / "scripted"), "--strict", "--quiet")
    code, output, error = cli.run("template", str(EXAMPLES / "scripted"), "-o", "json")
    assert (code, error.endswith("/ext/lua/size.lua: release-name is small: it has no monitor\n")) == (0, True)
    small = json.loads(output)["manifest"]["resources"]
    assert small["scripted:server"]["config"]["content"] == "workers 2\nport 8080\n"
    assert "scripted:monitor" not in small
    big = cli.json("template", str(EXAMPLES / "scripted"), "--set", "size=large")["manifest"]["resources"]
    assert big["scripted:server"]["config"]["content"] == "workers 16\nport 8080\n"
    assert "scripted:monitor" in big
    error = cli.fails("template", str(EXAMPLES / "scripted"), "--set", "size=huge")
    assert "ext/lua/size.lua" in error
    assert "size huge is none; write small, medium or large" in error
