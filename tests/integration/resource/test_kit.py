"""The kit for authors: what a class answers, and what is said about one that is wrong."""

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.author import EXAMPLES, KIT, Type
from tinkwell.core.release.protocol import answer
from tinkwell.core.release.protocol import difference as rules
from tinkwell.provisioner.resource import template
from tinkwell.resource import difference

FILE = """
@dataclass
class Config:
    name: str = field(metadata={"pattern": "^[a-z]+$"})
    text: str = ""
    password: Optional[str] = field(default=None, metadata={"writeOnly": True})

class File(Resource):
    config: Config
    plugs = [Plug("files", "/files", writable=True)]

    @property
    def path(self):
        return self.plug("files") / self.config.name

    async def discover(self):
        print("looking")
        return {"name": self.config.name, "text": self.path.read_text()} if self.path.exists() else None

    @action("write-it", "Write the file")
    async def write(self):
        print("writing")
        self.path.write_text(self.config.text)

    async def destroy(self):
        self.path.unlink(missing_ok=True)

run(File)
"""
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z]+$"},
        "text": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
    },
    "required": ["name"],
}
WRITE = {"name": "write-it", "description": "Write the file", "args": ["write"]}


def class_of(body: str, *, name: str = "Thing") -> str:
    """The source of a type whose class has this body, of which the first line is not indented."""
    return f"class {name}(Resource):\n    " + body.replace("\n", "\n    ") + f"\nrun({name})\n"


def test_a_class_answers_all_calls_of_the_protocol(tmp_path: Path) -> None:
    made = Type(tmp_path / "it", FILE)
    config = {"name": "a", "text": "hello"}
    init = made.call().answer
    assert init == {
        "state_action": {"args": ["state"]},
        "config_schema": SCHEMA,
        "plugs": {"files": {"container_path": "/files", "writable": True, "optional": False}},
        "tinkwell": {"protocol": 1, "destroy_action": {"args": ["destroy"]}, "sensitive": ["/password"]},
    }
    assert made.call("state", config=config).answer == {"status": "STALE", "actions": [WRITE]}
    written = made.call("write", config=config, staleState={})
    assert (written.code, written.stdout) == (0, "writing\n")
    assert made.call("state", config=config).answer == {"status": "VALID", "state": config}
    stale = made.call("state", config={**config, "text": ""}).answer
    assert stale == {"status": "STALE", "staleState": config, "actions": [WRITE]}
    for _ in range(2):
        assert made.call("destroy", config=config, state=config).code == 0
    assert made.call("state", config=config).answer["status"] == "STALE"


def test_deployster_is_told_nothing_that_it_does_not_know(tmp_path: Path) -> None:
    init = Type(tmp_path / "it", FILE).call(protocol=False).answer
    assert set(init) == {"state_action", "config_schema", "plugs"}


def test_what_is_printed_while_it_looks_is_output_and_no_part_of_the_answer(tmp_path: Path) -> None:
    source = class_of(
        """def discover(self):
    import os
    print("printed")
    os.system("echo by a child")
    return {}
def actions(self, found):
    return []"""
    )
    said = Type(tmp_path / "it", source).call("state", config={})
    assert said.answer == {"status": "VALID", "state": {}}
    assert sorted(said.stderr.splitlines()) == ["by a child", "printed"]


def test_what_a_class_says_of_its_type_is_in_the_answer_to_init(tmp_path: Path) -> None:
    source = class_of(
        """config_schema = {"type": "object", "properties": {"a/b": {"properties": {"key": {"writeOnly": True}}}}}
sensitive = ["/token"]
timeouts = {"action": 60, "ready": 5}
retry = {"attempts": 3, "delay_seconds": 0, "exit_codes": [75]}
poll_seconds = 2
concurrency_key = "dns"
read_only_state = False
def discover(self):
    return {}"""
    )
    init = Type(tmp_path / "it", source).call()
    found = answer.parse_init(init.stdout.encode()).extension
    assert init.answer["config_schema"]["type"] == "object"
    assert found == answer.Extension(
        read_only_state=False,
        timeouts={"action": 60, "ready": 5},
        retry=answer.Retry(attempts=3, delay_seconds=0, exit_codes=(75,)),
        poll_seconds=2,
        sensitive=("/token", "/a~1b/key"),
        concurrency_key="dns",
    )


def test_a_dataclass_makes_the_schema_and_is_what_config_is(tmp_path: Path) -> None:
    source = """
@dataclass
class Server:
    host: str
    port: int = 5432

@dataclass
class Config:
    server: Server
    kind: Literal["a", "b"]
    sizes: list[int]
    labels: dict[str, str] = field(default_factory=dict)
    more: Optional[Server] = None
    disks: list[Server] = field(default_factory=list)
    ratio: float = 1.0
    is_open: bool = False
    any: Any = None

class Thing(Resource):
    config: Config
    def discover(self):
        config = self.config
        return {"port": config.server.port, "more": config.more.host, "disk": config.disks[0].port, "config": config}
    def actions(self, found):
        return []

run(Thing)
"""
    made = Type(tmp_path / "it", source)
    server = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"host": {"type": "string"}, "port": {"type": "integer"}},
        "required": ["host"],
    }
    schema = made.call().answer["config_schema"]
    assert schema["required"] == ["server", "kind", "sizes"]
    assert schema["properties"] == {
        "server": server,
        "kind": {"enum": ["a", "b"]},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "more": server,
        "disks": {"type": "array", "items": server},
        "ratio": {"type": "number"},
        "is_open": {"type": "boolean"},
        "any": {},
    }
    host = {"host": "h"}
    config = {"server": host, "kind": "a", "sizes": [1], "more": {"host": "m"}, "disks": [host]}
    state = made.call("state", config=config).answer["state"]
    assert (state["port"], state["more"], state["disk"]) == (5432, "m", 5432)
    assert state["config"]["server"] == {"host": "h", "port": 5432}
    assert "any" not in state["config"]


def test_actions_have_arguments_images_and_entry_points(tmp_path: Path) -> None:
    source = class_of(
        """def discover(self):
    return {"name": self.name, "release": self.release}
def actions(self, found):
    tell = Action("tell", image="acme/slack:1", entrypoint="/slack.sh", args=["--room=a"])
    return [Action("resize", args=["n1", "2"]), tell]
@action("resize")
def resize(self, kind, count):
    print(kind, count, self.stale_state["name"])"""
    )
    made = Type(tmp_path / "it", source)
    assert made.call("state", config={}, release="shop").answer == {
        "status": "STALE",
        "staleState": {"name": "it", "release": "shop"},
        "actions": [
            {"name": "resize", "args": ["resize", "n1", "2"]},
            {"name": "tell", "image": "acme/slack:1", "entrypoint": "/slack.sh", "args": ["--room=a"]},
        ],
    }
    assert made.call("resize", "n1", "2", config={}, staleState={"name": "x"}).stdout == "n1 2 x\n"


def test_a_failure_is_told_with_its_exit_code(tmp_path: Path) -> None:
    source = class_of('def discover(self):\n    fail("the disk is full", 75)')
    said = Type(tmp_path / "it", source).call("state", config={})
    assert (said.code, said.stdout, said.stderr) == (75, "", "the disk is full\n")


NONE_DUE = "def actions(self, found):\n    return []\n"
FOUND = "def discover(self):\n    return {}\n"
MISTAKES = {
    "no discover": ("pass", "init", "Thing has no discover()"),
    "a list": ("def discover(self):\n    return []", "state", "Thing.discover returned a list; it must return a dict"),
    "a set in it": (
        NONE_DUE + "def discover(self):\n    return {'a': [{'b': {1}}]}",
        "state",
        "Thing.discover returned a value that JSON cannot hold, as a.0.b: Object of type set",
    ),
    "NaN": (NONE_DUE + "def discover(self):\n    return {'a': float('nan')}", "state", "cannot hold, as a: "),
    "a tuple as a key": (NONE_DUE + "def discover(self):\n    return {(1, 2): 3}", "state", "cannot hold: keys must"),
    "a set in a schema": (FOUND + "config_schema = {'enum': {1}}", "init", "as config_schema.enum: Object of type set"),
    "an attribute that is almost ours": (FOUND + "timeout = {}", "init", "did you mean timeouts?"),
    "an attribute without a letter": (FOUND + "pol_seconds = 5", "init", "Thing.pol_seconds is unknown to the kit"),
    "a method that is almost ours": (FOUND + "def destory(self):\n    pass", "init", "did you mean destroy?"),
    "an annotation that is almost ours": (FOUND + "cofnig: Config", "state", "did you mean config?"),
    "an action without a name": (FOUND + "@action\ndef write(self):\n    pass", "init", "Thing.write is called ''"),
    "an empty name": (FOUND + "@action('')\ndef write(self):\n    pass", "init", "give it a name without slashes"),
    "a path": (FOUND + "@action('../x')\ndef write(self):\n    pass", "init", "is called '../x'"),
    "a method of ours": (FOUND + "@action('x')\ndef plug(self):\n    pass", "init", "rename the method"),
    "a call of ours": (FOUND + "@action('x')\ndef state(self):\n    pass", "init", "rename the method"),
    "a name twice": (
        FOUND + "@action('x')\ndef a(self):\n    pass\n@action('x')\ndef b(self):\n    pass",
        "init",
        "Thing.a and Thing.b are both the action 'x'",
    ),
    "an unknown action": (
        FOUND + "@action('write')\ndef write(self):\n    pass\ndef actions(self, found):\n    return [Action('wriet')]",
        "state",
        "Thing has no action 'wriet'; it has write",
    ),
    "a text for an action": (
        FOUND + "def actions(self, found):\n    return ['write']",
        "state",
        "write Action('write')",
    ),
    "no list": (FOUND + "def actions(self, found):\n    return Action('a')", "state", "it must return a list"),
    "an Action without a name": (
        FOUND + "def actions(self, found):\n    return [Action('')]",
        "state",
        "an Action that Thing.actions returned is called ''",
    ),
    "nothing to do about nothing": (
        "def discover(self):\n    return None\ndef actions(self, found):\n    return []",
        "state",
        "found nothing, so its actions(None) must return an action",
    ),
    "two actions and no choice": (
        FOUND + "@action('x')\ndef a(self):\n    pass\n@action('y')\ndef b(self):\n    pass",
        "state",
        "Thing has 2 actions; let its actions(found) say which ones",
    ),
    "an unknown plug": ("def discover(self):\n    self.plug('files')", "state", "Thing has no plug 'files'"),
    "no destroy": (FOUND, "destroy", "Thing has no destroy()"),
    "two schemas": (
        "config: Config\nconfig_schema = {'type': 'object'}\n" + FOUND,
        "init",
        "both config_schema and config: Config",
    ),
    "a type that JSON does not have": ("config: Strange\n" + FOUND, "init", "Strange.a is a <class 'set'>"),
    "an annotation that is none": ("config: 'Nowhere'\n" + FOUND, "init", "annotation that cannot be read"),
    "a config that is none": ("config: Config\n" + FOUND, "state", "config is incomplete"),
    "an unknown call": (FOUND, "stat", "there is no call 'stat'; there are init, state, destroy"),
}
TYPES = "@dataclass\nclass Config:\n    a: str\n@dataclass\nclass Strange:\n    a: set\n"


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_of_an_author_is_told_in_one_sentence(tmp_path: Path, case: str) -> None:
    body, call, sentence = MISTAKES[case]
    made = Type(tmp_path / "it", TYPES + class_of(body))
    assert sentence in made.call(call, config={}).mistake


@pytest.mark.parametrize(
    ("stdin", "sentence"),
    [
        ("", "standard input must be one JSON object"),
        ("[]", "standard input must be one JSON object"),
        ("{}", "for state with the member config"),
    ],
)
def test_a_caller_s_mistake_is_told_in_one_sentence(tmp_path: Path, stdin: str, sentence: str) -> None:
    assert sentence in Type(tmp_path / "it", class_of(FOUND)).call("state", stdin=stdin).mistake


def others() -> list[str]:
    """The programs of other versions of Python that there are on this machine, with this one."""
    found = [path for number in range(9, 20) if (path := shutil.which(f"python3.{number}"))]
    ran = [subprocess.run([path, "-c", ""], capture_output=True, timeout=60, check=False) for path in found]
    return [sys.executable, *(path for path, done in zip(found, ran, strict=True) if done.returncode == 0)]


def test_each_version_of_python_here_runs_it(tmp_path: Path) -> None:
    folder = Type(tmp_path / "it", FILE).folder
    for program in others():
        done = subprocess.run(
            [program, "-B", folder / "run"], input="{}", capture_output=True, text=True, check=True, timeout=60
        )
        assert json.loads(done.stdout)["config_schema"] == SCHEMA, program


def test_a_dataclass_with_slots_is_taken_too(tmp_path: Path) -> None:
    config = "@dataclass\nclass Config:\n    __slots__ = ('a',)\n    a: int\n"
    body = "config: Config\ndef discover(self):\n    return self.config\ndef actions(self, found):\n    return []"
    made = Type(tmp_path / "it", config + class_of(body))
    assert made.call("state", config={"a": 1}).answer["state"] == {"a": 1}


def test_a_class_has_names_of_its_own(tmp_path: Path) -> None:
    body = FOUND + NONE_DUE + "path = state = retries = 1\n_timeout = 2\n@action('x')\ndef plugg(self):\n    pass"
    assert Type(tmp_path / "it", class_of(body)).call("state", config={}).answer["status"] == "VALID"


def test_what_is_no_class_of_resources_is_refused(tmp_path: Path) -> None:
    made = Type(tmp_path / "it", "class Thing(Resource):\n    pass\nrun(Thing({}))\n")
    assert "write class Name(Resource) and run(Name)" in made.call().mistake


DIFFERENCES: list[tuple[Any, Any, list[str]]] = [
    ({}, {"a": 1}, []),
    ({"a": 1}, {"a": 1, "b": 2}, []),
    ({"a": 1}, {}, ["a"]),
    ({"a": 1}, {"a": True}, ["a"]),
    ({"a": 1}, {"a": 1.0}, []),
    ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 3}]}}, ["a.b[1].c"]),
    ({"a": [1, 2]}, {"a": [1]}, ["a"]),
    ({"a": None}, {"a": None}, []),
    ({"a": {}}, {"a": []}, ["a"]),
    ({}, [], [""]),
]


@pytest.mark.parametrize(("desired", "found", "paths"), DIFFERENCES)
def test_the_kit_finds_the_differences_that_the_provisioner_finds(desired: Any, found: Any, paths: list[str]) -> None:
    assert difference(desired, found) == paths == rules.difference(desired, found)


PROGRAMS = {
    "kit.py": KIT.read_text(),
    "template": template.RUN.replace("%CLASS%", "Note"),
    **{str(file.relative_to(EXAMPLES)): file.read_text() for file in sorted(EXAMPLES.glob("*/run"))},
    **{str(file.relative_to(EXAMPLES)): file.read_text() for file in sorted(EXAMPLES.glob("*/*.py"))},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_for_images_are_in_the_syntax_of_python_3_9(name: str) -> None:
    ast.parse(PROGRAMS[name], feature_version=(3, 9))


def test_there_is_one_kit_which_the_examples_link_to() -> None:
    copies = list(EXAMPLES.parent.rglob("kit.py"))
    folders = {file.parent.name for file in EXAMPLES.glob("*/run")} - {"misbehave"}
    assert {file.parent.name for file in copies} == folders
    assert {file.resolve() for file in copies} == {KIT.resolve()}
