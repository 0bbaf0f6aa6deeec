"""Programs of rules: what they get, and that nothing of them is left."""

import asyncio
import json
from pathlib import Path

import pytest
from unit.provisioner.automation.sample import event, rules

from support.waiting import eventually
from tinkwell.provisioner.automation.effect import program
from tinkwell.provisioner.automation.rule import model


class Plain:
    """Stands in for an evaluator where nothing is to be filled in."""

    async def texts(self, texts: tuple[str, ...], _: object) -> list[str]:
        return list(texts)


def of(
    script: str, *, seconds: float = 60, argv: tuple[str, ...] = (), **environment: str
) -> tuple[program.Program, model.Effect]:
    text = "name: set\nrules: [{name: one, on: {name: workflow.timeout}, do: {command: {argv: [x]}}}]"
    read = rules(text)
    effect = model.Effect(rule_set=read.name, rule=read.rules[0], event=event(7))
    argv = argv or ("/bin/sh", "-c", script)
    command = model.RunCommand(
        program=argv[0],
        arguments=argv[1:],  # type: ignore[arg-type]
        environment=environment,
        timeout_seconds=seconds,
        attempts=1,
    )
    return program.Program(command, Plain()), effect  # type: ignore[arg-type]


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def detail(script: str, **options: object) -> str:
    command, effect = of(script, **options)  # type: ignore[arg-type]
    return (await command.attempt(effect)).detail


LEAVE = "( setsid sh -c 'echo $$ > {0}; exec sleep 1000' & ); until [ -s {0} ]; do sleep 0.01; done"


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "kill -9 $$"])
async def test_what_a_program_leaves_in_a_session_of_its_own_ends_with_it(tmp_path: Path, end: str) -> None:
    left = tmp_path / "pid"
    codes = {"exit 0": 0, "exit 3": 3, "kill -9 $$": 137}
    assert await detail(f"{LEAVE.format(left)}; {end}") == f"exited with code {codes[end]}"
    assert not is_alive(int(left.read_text()))


async def test_a_program_that_takes_too_long_ends_with_all_that_it_has_started(tmp_path: Path) -> None:
    left, own = tmp_path / "pid", tmp_path / "own"
    script = f"echo $$ > {own}; trap '' TERM; {LEAVE.format(left)}; sleep 1000"
    assert await detail(script, seconds=3) == "did not end within 3 s"
    assert not any(is_alive(int(path.read_text())) for path in (left, own))


async def test_a_program_of_an_effect_that_is_given_up_ends(tmp_path: Path) -> None:
    left = tmp_path / "pid"
    command, effect = of(f"{LEAVE.format(left)}; sleep 1000")
    work = asyncio.create_task(command.attempt(effect))
    await eventually(lambda: left.exists() and left.read_text().strip() != "")
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not is_alive(int(left.read_text()))


async def test_a_program_gets_the_event_and_few_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKWELL_TOKEN", "a token of the automation")
    for name in ("HOME", "LANG", "TZ"):
        monkeypatch.delenv(name, raising=False)
    script = f"cat > {tmp_path}/event; env > {tmp_path}/own; tr '\\0' '\\n' < /proc/$PPID/environ > {tmp_path}/parent"
    assert await detail(script, OWN="of the rule") == "exited with code 0"
    assert json.loads((tmp_path / "event").read_text())["id"] == event(7).id
    names = {"OWN", "PATH", "TINKWELL_IDEMPOTENCY_KEY", "TINKWELL_RULE", "TINKWELL_EVENT_ID", "TINKWELL_EVENT_NAME"}
    for file in ("own", "parent"):
        found = dict(line.split("=", 1) for line in (tmp_path / file).read_text().splitlines())
        assert found.keys() - {"PWD", "SHLVL", "_", "OLDPWD"} == names
        assert found["OWN"] == "of the rule"


@pytest.mark.parametrize(
    "argv", [("no-such-program",), ("/no/such/program",), ("/etc/passwd",), ("no-such-program", "x")]
)
async def test_a_program_that_cannot_be_started_says_so(argv: tuple[str, ...]) -> None:
    assert (await detail("", argv=argv)).startswith(f"{argv[0]} cannot be started: ")


async def test_a_program_is_found_where_the_path_of_its_rule_says(tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("#!/bin/sh\nexit 4\n")
    file.chmod(0o755)
    assert await detail("", argv=("mine",), PATH=f"/usr/bin:/bin:{tmp_path}") == "exited with code 4"
