"""What `tinkwell resource test` finds in types that are processes: nothing in good ones, and each planted mistake."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from support.author import EXAMPLES, Type
from tinkwell.cli.main import main
from tinkwell.provisioner.resource import scaffold, target
from tinkwell.provisioner.resource.finding import Finding, Verdict

# A type that is as it should be, without the kit; a case replaces a line of it.
GOOD = """#!/usr/bin/env python3
import json, os, pathlib, sys

SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name"],
          "properties": {"name": {"type": "string"}, "text": {"type": "string"}}}
given = json.load(sys.stdin)
call = (sys.argv[1:] or ["init"])[0]
config = given.get("config", {})
path = pathlib.Path(os.environ.get("TINKWELL_PLUG_FILES", "/files"), config.get("name", ""))
text = config.get("text", "")
state = {"name": path.name, "text": path.read_text()} if path.is_file() else None
actions = [{"name": "write", "args": ["write"]}]
destroy = {"args": ["destroy"]}
extension = {"tinkwell": {"protocol": 1, "destroy_action": destroy}} if "protocol" in given else {}
plugs = {"files": {"container_path": "/files"}}
init = {"state_action": {"args": ["state"]}, "config_schema": SCHEMA, "plugs": plugs, **extension}
valid = {"status": "VALID", "state": state}
stale = {"status": "STALE", "actions": actions, **({"staleState": state} if state else {})}
is_right = state is not None and state["text"] == text
answers = 1
# HERE
if call == "init":
    print(json.dumps(init))
elif call == "state":
    for _ in range(answers):
        print(json.dumps(valid if is_right else stale))
elif call == "write":
    path.write_text(text)
elif call == "destroy":
    path.unlink(missing_ok=True)
"""
CONFIG = {"name": "a", "text": "hello"}


def plant(tmp_path: Path, line: str = "") -> Path:
    """Make a type in which a line stands that should not."""
    made = Type(tmp_path / "planted", text=GOOD.replace("# HERE", line))
    return made.folder


async def found(folder: Path, config: Any = CONFIG, **more: Any) -> dict[str, Finding]:
    findings = await target.try_out(str(folder), config, **more)
    return {each.check: each for each in findings}


def wrong(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {name: each for name, each in findings.items() if each.verdict in (Verdict.FAILED, Verdict.WARNING)}


async def test_nothing_is_wrong_with_a_good_type(tmp_path: Path) -> None:
    findings = await found(plant(tmp_path), then={**CONFIG, "text": "other"})
    assert {each.verdict for each in findings.values()} == {Verdict.OK}
    assert "state after the change" in findings
    assert len(findings) == 16


async def test_nothing_is_wrong_with_a_new_type_of_the_kit(tmp_path: Path) -> None:
    scaffold.write("acme/note", tmp_path / "note")
    config = json.loads((tmp_path / "note" / "config.json").read_text())
    findings = await found(tmp_path / "note", config, then={**config, "text": "other"})
    assert {each.verdict for each in findings.values()} == {Verdict.OK}


# What is planted, which check finds it, and words of what it says and advises.
PLANTED = {
    "state changes something": (
        'if call == "state": path.with_name("seen").touch()',
        "state",
        "state has changed something: files/seen appeared",
        "it only looks",
    ),
    "actions never reach VALID": (
        "is_right = False",
        "re-check",
        "it is still STALE after its actions: it exists now",
        "let state compare less",
    ),
    "two JSON documents on stdout": (
        "answers = 2",
        "state",
        "something follows the JSON document",
        "print one JSON document",
    ),
    "a schema that is none": (
        'init["config_schema"] = {"type": "objekt"}',
        "schema",
        "config_schema: is no JSON Schema",
        "Draft 4",
    ),
    "destroy fails on an absent resource": (
        'if call == "destroy": path.unlink(); sys.exit()',
        "destroy again",
        "destroy exited with code 1",
        "goes well where nothing is there",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
async def test_a_planted_mistake_is_found_with_what_to_do(tmp_path: Path, case: str) -> None:
    line, check, problem, remedy = PLANTED[case]
    findings = wrong(await found(plant(tmp_path, line)))
    assert list(findings) == [check]
    assert findings[check].verdict is Verdict.FAILED
    assert problem in findings[check].problem
    assert remedy in findings[check].remedy


# As Deployster's own engine meets them, and what else a state may do that it must not.
FAULTS = {
    "init: nothing": ('if call == "init": sys.exit()', "init", "its standard output must be one JSON object"),
    "init: {}": ("init = {}", "init", "state_action: must be given"),
    "init: another key": ('init["more"] = 1', "init", "more: there is no such field"),
    "init: no JSON": ('if call == "init": print("ready"); sys.exit()', "init", "it answered ready"),
    "init: exit 3": ('if call == "init": print("why", file=sys.stderr); sys.exit(3)', "init", "code 3\n| why"),
    "init: the same call": ('init["state_action"] = {}', "init", "state_action: must set image, entrypoint or args"),
    "init: a place twice": ('plugs["b"] = plugs["files"]', "init", "is also the one of the plug files"),
    "init: not the same twice": (
        'init["config_schema"] = {**SCHEMA, "title": str(os.getpid())}',
        "init again",
        "init answers otherwise at config_schema.title",
    ),
    "state: VALID and actions": (
        'is_right, valid = True, {"status": "VALID", "state": {}, "actions": []}',
        "state",
        "it is forbidden where status is VALID",
    ),
    "state: VALID without state": ('is_right, valid = True, {"status": "VALID"}', "state", "state: must be given"),
    "state: STALE without actions": ("actions.clear()", "state", "must have at least one action"),
    "state: STALE and state": ('stale["state"] = {}', "state", "it is called staleState"),
    "state: MISSING": ('stale["status"] = "MISSING"', "state", "it must be VALID or STALE"),
    "state: is there before": ("is_right = True; valid = {**valid, 'state': {}}", "state", "VALID before its actions"),
    "state: not the same twice": (
        'actions[0]["name"] = f"write-{os.getpid()}"',
        "state again",
        "asked twice, state answers otherwise: its actions were write-",
    ),
    "state: another time each time": (
        'state = state and {**state, "pid": os.getpid()}; valid["state"] = state',
        "state when VALID",
        "asked twice, state answers otherwise at pid",
    ),
    "action: a path": ('actions[0]["name"] = "../../x"', "state", "is like a path"),
    "action: exit 7": (
        'if call == "write": print("no room", file=sys.stderr); sys.exit(7)',
        "actions",
        "the action write exited with code 7\n| no room",
    ),
    "action: the second is not run": (
        'actions[:] = [{"name": "no", "args": ["no"]}, *actions]\nif call == "no": sys.exit(7)',
        "actions",
        "the action no exited with code 7",
    ),
    "action: of an image that is not here": (
        'actions[0]["image"] = "localhost:5000/nowhere:1"',
        "actions",
        "the action write did not begin: no such image here",
    ),
    "destroy: leaves it": ('if call == "destroy": sys.exit()', "state after destroy", "after destroy it is VALID"),
    "Deployster: needs protocol": (
        'is_right = is_right and "protocol" in given',
        "state under Deployster",
        "it is STALE where standard input has no protocol",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_a_fault_is_found_by_its_check(tmp_path: Path, case: str) -> None:
    line, check, problem = FAULTS[case]
    findings = wrong(await found(plant(tmp_path, line)))
    assert list(findings) == [check]
    assert problem in findings[check].problem


SURPRISES = {
    "any config": ('del init["config_schema"]', "schema", "any config is taken"),
    "a mistyped field": ('SCHEMA["additionalProperties"] = True', "bad configs", "the unknown field no_such_field"),
    "tinkwell without protocol": (
        'init["tinkwell"] = {"protocol": 1, "destroy_action": destroy}',
        "init under Deployster",
        "though it was told no protocol",
    ),
}


@pytest.mark.parametrize("case", SURPRISES)
async def test_what_will_surprise_somebody_is_a_warning(tmp_path: Path, case: str) -> None:
    line, check, problem = SURPRISES[case]
    findings = wrong(await found(plant(tmp_path, line)))
    assert {name: each.verdict for name, each in findings.items()} == {check: Verdict.WARNING}
    assert problem in findings[check].problem


async def test_a_call_that_never_ends_is_killed(tmp_path: Path) -> None:
    line = (
        'if "tinkwell" in init: init["tinkwell"]["timeouts"] = {"state": 1}\n'
        'if call == "state":\n    import time\n    time.sleep(600)'
    )
    findings = wrong(await found(plant(tmp_path, line)))
    assert "did not end within 1 s, and was killed" in findings["state"].problem


SECRET = 'if "protocol" in given: init["tinkwell"]["sensitive"] = ["/text"]\n'


@pytest.mark.parametrize(
    "line",
    ['if call == "write": print(text); sys.exit(7)', 'if call == "state": print("no JSON, but", text); sys.exit()'],
)
async def test_what_is_secret_is_in_no_finding(tmp_path: Path, line: str) -> None:
    findings = wrong(await found(plant(tmp_path, SECRET + line), {"name": "a", "text": "the password"}))
    (told,) = findings.values()
    assert "•••" in told.problem
    assert "the password" not in f"{findings}"


async def test_a_secret_that_cannot_be_told_from_other_text_is_refused(tmp_path: Path) -> None:
    findings = wrong(await found(plant(tmp_path, SECRET), {"name": "a", "text": "abc"}))
    assert list(findings) == ["config"]
    assert findings["config"].problem.startswith("config.text: ")


EXAMPLES_CONFIGS: dict[str, list[dict[str, Any]]] = {
    "file": [{"name": "a.txt", "content": "x"}, {"name": "a.txt", "content": "y", "mode": "0600"}],
    "directory": [{"name": "inbox", "mode": "0750"}, {"name": "inbox", "mode": "0700"}],
}


@pytest.mark.parametrize("name", EXAMPLES_CONFIGS)
async def test_nothing_is_wrong_with_the_examples(name: str) -> None:
    config, then = EXAMPLES_CONFIGS[name]
    assert wrong(await found(EXAMPLES / name, config, then=then)) == {}


async def test_a_change_that_is_not_seen_is_told(tmp_path: Path) -> None:
    findings = wrong(await found(plant(tmp_path, "is_right = state is not None"), then={**CONFIG, "text": "other"}))
    assert list(findings) == ["state after the change"]


async def test_who_is_not_ready_at_once_is_asked_again_where_it_says_so(tmp_path: Path) -> None:
    line = (
        'if "tinkwell" in init: init["tinkwell"]["readiness"] = {"poll_seconds": 1}\n'
        "import time\nis_right = is_right and time.time() - path.stat().st_mtime > 1"
    )
    assert wrong(await found(plant(tmp_path, line))) == {}


def run(*words: object) -> Result:
    return CliRunner().invoke(main, ["resource", "test", *map(str, words)])


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


async def test_the_command_prints_a_table_or_json_and_its_exit_code_says_whether_a_check_failed(tmp_path: Path) -> None:
    config = write(tmp_path / "config.json", CONFIG)
    folder = plant(tmp_path)
    good = await asyncio.to_thread(run, folder, "--config", config)
    assert (good.exit_code, good.output.splitlines()[-1]) == (0, "15 checks: 15 ok")
    plant(tmp_path, "answers = 2")
    bad = await asyncio.to_thread(run, "planted", "--process-images", tmp_path, "--config", config, "-o", "json")
    assert bad.exit_code == 1
    (failed,) = (each for each in json.loads(bad.stdout) if each["verdict"] == "FAILED")
    assert failed["check"] == "state"
    assert failed["remedy"]


async def test_a_type_is_given_the_plugs_that_its_author_names(tmp_path: Path) -> None:
    config, files = write(tmp_path / "config.json", CONFIG), tmp_path / "mine"
    files.mkdir()
    (files / "a").write_text("hello")
    folder = plant(tmp_path)
    done = await asyncio.to_thread(run, folder, "--config", config, "--plug", f"files={files}:ro")
    assert done.exit_code == 1
    assert "it is VALID before its actions have run" in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--config", "list.json"), "list.json: "),
        (("--config", "config.json", "--plug", "files"), "is no plug; write it as NAME=PATH"),
        (("--config", "config.json", "--plug", "files=/nowhere/at/all"), "of a path that is there"),
    ],
)
def test_what_is_wrong_with_the_command_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "list.json", [])
    write(tmp_path / "config.json", CONFIG)
    done = run(EXAMPLES / "file", *words)
    assert done.exit_code == 1
    assert sentence in done.stderr
