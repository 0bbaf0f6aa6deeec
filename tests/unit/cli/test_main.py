"""The command as a whole: its help, its completion, and the commands that other components add."""

from collections.abc import Iterator
from importlib import metadata

import pytest
import rich_click as click
from click.testing import CliRunner

from tinkwell.cli import main
from tinkwell.cli.shell import command

COMMANDS = {
    "hardware": {"push", "get", "list", "delete", "watch", "phone-home"},
    "template": {"create", "get", "list", "update", "delete", "validate", "watch"},
    "workflow": {"create", "get", "list", "delete", "cancel", "state", "events", "logs", "data", "watch", "prune"},
    "release": {
        *("install", "upgrade", "apply", "rollback", "uninstall", "resume", "plan", "drift", "test", "cancel"),
        *("status", "history", "get", "list", "logs", "watch", "events", "explain"),
    },
    "chart": {"push", "list"},
    "app": {
        "deploy",
        "list",
        "status",
        "config",
        "relate",
        "unrelate",
        "scale",
        "remove",
        "upgrade",
        "watch",
        "actions",
        "wait",
    },
    "unit": {
        *("list", "status", "add", "remove", "watch", "events", "logs", "deferred", "explain", "audit", "resolve"),
        *("run", "exec", "prepare-upgrade", "finish-upgrade", "collect-metrics", "attach", "detach", "remove-storage"),
    },
    "task": {"list", "show", "cancel"},
    "charm": {"push", "inspect", "list"},
    "namespace": {"list", "get", "set", "watch"},
    "secret": {"add", "update", "list", "show", "reveal", "grant", "revoke", "remove", "watch"},
    "events": {"watch", "publish"},
}


def run(*args: str, **environment: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main.main, args, env=environment)
    return result.exit_code, result.stdout, result.stderr


def leaves() -> Iterator[tuple[str, ...]]:
    for group, names in COMMANDS.items():
        yield (group,)
        yield from ((group, name) for name in names)
    yield ("completion",)


@pytest.mark.parametrize("path", list(leaves()))
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    code, stdout, stderr = run(*path, "--help")
    assert (code, stderr) == (0, "")
    assert f"tinkwell {' '.join(path)}" in stdout


def test_what_a_command_of_another_component_fails_with_is_not_obeyed_by_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise click.ClickException("it says \x1b]0;t\x07\x9b2J\u202e")

    monkeypatch.setattr(command.Component, "load", lambda component: click.Command(component.name, callback=fail))
    result = CliRunner().invoke(main.main, ["db"], color=True)
    assert (result.exit_code, result.stderr) == (1, "Error: it says \\x1b]0;t\\x07\\x9b2J\\u202e\n")


def test_a_group_has_exactly_the_commands_it_is_known_for() -> None:
    assert set(COMMANDS) == {component.name for component in main.RESOURCES}
    context = click.Context(main.main)
    for group, names in COMMANDS.items():
        found = main.main.get_command(context, group)
        assert isinstance(found, command.Deferred)
        loaded = found.component.load()
        assert isinstance(loaded, click.Group)
        assert set(loaded.commands) == names
        assert loaded.help == found.help


def test_the_keys_of_a_server_are_among_the_commands_for_secrets() -> None:
    code, stdout, stderr = run("secret", "--help")
    assert (code, stderr) == (0, "")
    assert all(name in stdout for name in ("reveal", "keygen", "rekey", "forget"))
    assert run("secret", "keygen", "--help")[0] == 0


def test_a_group_has_the_commands_that_others_add_where_what_they_need_is_installed() -> None:
    group = main.RESOURCES[[each.name for each in main.RESOURCES].index("chart")].load()
    assert isinstance(group, command.OpenGroup)
    context = click.Context(group)
    added = {"lint", "template", "dag", "package", "verify", "explain"}
    assert set(group.list_commands(context)) == {"push", "list", *added}
    for name in added:
        found = group.get_command(context, name)
        assert found is not None
        assert found.help


def test_a_group_leaves_out_the_commands_that_lack_a_module() -> None:
    group = command.OpenGroup("chart", entry_point_group="tinkwell.commands.chart", needs=("nothing_here",))
    group.add_command(click.Command("own"))
    context = click.Context(group)
    assert group.list_commands(context) == ["own"]
    assert group.get_command(context, "dag") is None
    assert group.get_command(context, "own") is not None


def test_the_version_is_the_distributions() -> None:
    assert run("--version") == (0, f"tinkwell {metadata.version('tinkwell')}\n", "")


def test_an_unknown_command_is_a_usage_error() -> None:
    code, _, stderr = run("hardwrae")
    assert code == 2
    assert "No such command 'hardwrae'" in stderr


@pytest.mark.parametrize(
    ("target", "extra", "sentence"),
    [
        ("nothing_here.commands:x", "server", "nothing_here, which is not installed; install tinkwell[server]"),
        ("tinkwell.nothing_here:x", "server", "tinkwell.nothing_here, which is not installed"),
        ("nothing_here.commands:x", "", "nothing_here, which is not installed"),
    ],
)
def test_a_component_that_lacks_a_module_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, target: str, extra: str, sentence: str
) -> None:
    component = command.Component("thing", target, "A thing.", extra)
    monkeypatch.setattr(main, "_components", lambda: {"thing": component})
    assert run("thing") == (1, "", f"Error: tinkwell thing needs the module {sentence}\n")


def test_a_component_runs_with_its_own_options(monkeypatch: pytest.MonkeyPatch) -> None:
    component = command.Component("thing", "tinkwell.cli.shell.completion:completion", "A thing.")
    monkeypatch.setattr(main, "_components", lambda: {"thing": component})
    code, stdout, _ = run("thing", "bash")
    assert (code, stdout.startswith("# For this shell:")) == (0, True)


@click.command()
@click.option("--server", envvar="TINKWELL_SERVER")
@click.option("--tls", is_flag=True)
@click.option("--own")
def thing(server: str, tls: bool, own: str) -> None:
    click.echo(f"{server} {tls} {own}")


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        (("--server", "a:1", "thing"), "a:1 False None"),
        (("--server", "a:1", "--token", "t", "--tls", "thing", "--own", "x"), "a:1 True x"),
        (("--server", "a:1", "thing", "--server", "b:2"), "b:2 False None"),
        (("thing",), "env:3 False None"),
    ],
)
def test_a_component_is_given_the_global_options_that_it_has_too(
    monkeypatch: pytest.MonkeyPatch, line: tuple[str, ...], printed: str
) -> None:
    monkeypatch.setattr(command.Component, "load", lambda self: thing)
    monkeypatch.setattr(main, "_components", lambda: {"thing": command.Component("thing", "x:y", "A thing.")})
    assert run(*line, TINKWELL_SERVER="env:3") == (0, f"{printed}\n", "")


def complete(*words: str) -> list[str]:
    environment = {
        "_TINKWELL_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["tinkwell", *words]),
        "COMP_CWORD": str(len(words)),
    }
    _, stdout, _ = run(**environment)
    return [line.partition(",")[2] for line in stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("hard",), ["hardware"]),
        (("de",), ["dev"]),
        (("workflow", "l"), ["list", "logs"]),
        (("events", "watch", "--event-type", "hardware"), ["hardware_phone_home"]),
        (("events", "watch", "--resource-type", "w"), ["workflow"]),
        (("hardware", "list", "-o", "j"), ["json"]),
        (("events", "watch", "--fr"), ["--from-revision"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
    ],
)
def test_commands_options_and_values_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert complete(*words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_says_how_to_use_it(shell: str) -> None:
    code, script, _ = run("completion", shell)
    assert code == 0
    assert f"tinkwell completion {shell}" in script
    assert "_TINKWELL_COMPLETE" in script
    assert script.startswith("#compdef tinkwell\n#" if shell == "zsh" else "# For this shell")


def test_an_unknown_shell_is_a_usage_error() -> None:
    assert run("completion", "tcsh")[0] == 2
