"""Templates in files of Tinkerbell's `kind: Template`, and what is said of other objects."""

import json
from pathlib import Path

import pytest

from support.command_line import CommandLine
from tinkwell.core import errors
from tinkwell.core.template import template

DATA = """version: "0.1"
name: inner
tasks:
  - name: greet
    worker: "{{.device_1}}"
    actions:
      - name: hello
        image: hello-world
"""


def written(data: str = DATA, *, name: str = "outer", header: str = "|", spaces: int = 4) -> str:
    """Write an object that holds a template as a block."""
    block = "".join(f"{' ' * spaces}{line}\n" if line else "\n" for line in data.splitlines())
    return (
        "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata:\n"
        f"  name: {name}\n  namespace: tink-system\nspec:\n  data: {header}\n{block}"
    )


AS_JSON = json.dumps(
    {"metadata": {"name": "outer"}, "kind": "Template", "apiVersion": "tinkerbell.org/v1alpha1", "spec": {"data": DATA}}
)
AS_LIST = f"apiVersion: v1\nkind: List\nitems:\n- {json.dumps(json.loads(AS_JSON))}\n"


@pytest.mark.parametrize("text", [written(), written(header="|-"), f"---\n{written()}status: {{}}\n", AS_JSON, AS_LIST])
def test_a_template_gets_the_name_of_its_object(cli: CommandLine, text: str) -> None:
    cli.ok("template", "create", "-", stdin=text)
    assert cli.json("template", "get", "outer")["data"].strip() == DATA.strip()


def test_another_name_may_be_given(cli: CommandLine) -> None:
    cli.ok("template", "create", "-", "--name", "other", stdin=written(name="has.dots"))
    assert [found["name"] for found in cli.json("template", "list")] == ["other"]


def test_a_name_that_is_none_for_templates_is_told_with_its_place(cli: CommandLine) -> None:
    told = cli.fails("template", "create", "-", stdin=written(name="ubuntu-22.04"))
    assert told.startswith('Error: standard input:4:3: metadata.name: "ubuntu-22.04" is not a name')
    assert told.endswith("; or give the template another one with --name\n")


def test_an_update_takes_the_template_and_leaves_the_name(cli: CommandLine) -> None:
    cli.ok("template", "create", "-", stdin=DATA)
    cli.ok("template", "update", "inner", "-", stdin=written(f"{DATA}# more\n", name="has.dots"))
    assert cli.json("template", "get", "inner")["data"] == f"{DATA}# more\n"


def test_validating_tells_of_each_template_of_a_file(cli: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(f"{written(name='one')}---\n{written(DATA.replace('image', 'imago'), name='two')}---\n{written()}")
    result = cli.run("template", "validate", str(path))
    assert result.stdout.splitlines() == [f"{path}: one, 1 task, 1 action", f"{path}: outer, 1 task, 1 action"]
    assert result.stderr.startswith(
        f"Error: {path}:31:13: tasks[0].actions[0].imago: the key is not known; did you mean"
    )


BAD = DATA.replace("image: hello-world", "image: Hello World")


@pytest.mark.parametrize("command", [("create",), ("update", "inner"), ("validate",)])
@pytest.mark.parametrize(
    ("text", "place", "end"),
    [
        (written(BAD), "15:20", ""),
        (written(BAD, header="|- # text", spaces=8), "15:24", ""),
        (written(BAD).replace("\n", "\r\n"), "15:20", ""),
        (written(BAD, header=">"), "7:3", ""),
        (AS_JSON.replace("hello-world", "Hello World"), "1:103", " (line 8, column 16 of it)"),
    ],
)
def test_what_is_wrong_with_a_template_is_told_where_the_file_has_it(
    cli: CommandLine, tmp_path: Path, command: tuple[str, ...], text: str, place: str, end: str
) -> None:
    cli.ok("template", "create", "-", stdin=DATA)
    path = tmp_path / "t.yaml"
    path.write_bytes(text.encode())
    told = cli.fails("template", *command, str(path)).splitlines()[0]
    assert told.startswith(f"Error: {path}:{place}: ")
    assert told.endswith(end)


@pytest.mark.parametrize("command", [("create",), ("update", "inner"), ("validate",)])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            (
                "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata: {name: w}\n"
                "spec:\n  templateRef: ubuntu\n  hardwareMap:\n    device_1: 02:00:5e:10:00:17\n"
            ),
            (
                "2:1: kind: is Workflow; workflows are made by a command, not by a file: "
                "tinkwell workflow create --template ubuntu --device device_1=02:00:5e:10:00:17"
            ),
        ),
        (
            "apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\n",
            "2:1: kind: is Hardware, which goes by a command of its own: tinkwell hardware push FILE",
        ),
        ("kind: Template\nspec: {}\n", "apiVersion: is missing"),
        ("apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nspec: {}\n", "3:1: spec.data: is missing"),
        ("apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nspec: {data: {}}\n", "spec.data: is an object"),
        (
            "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nspec: {date: x}\n",
            "spec.date: Tinkerbell's Template has no such field; did you mean data?",
        ),
        (f"{written()}---\n5\n", "a template is an object of kind: Template here, and not a number"),
        ("kind: [", "not YAML"),
        ("apiVersion: v1\nkind: List\nitems: []\n", "the list holds no template"),
    ],
)
def test_an_object_that_is_no_template_is_refused_with_what_to_do(
    cli: CommandLine, tmp_path: Path, command: tuple[str, ...], text: str, sentence: str
) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text)
    told = cli.fails("template", *command, str(path))
    assert told.startswith(f"Error: {path}:")
    assert sentence in told


def test_one_template_is_taken_at_a_time(cli: CommandLine) -> None:
    told = cli.fails("template", "create", "-", stdin=f"{written()}---\n{written(name='two')}")
    assert told == "Error: standard input holds 2 templates, but only one is allowed here; write a file for each\n"


def test_a_template_that_writes_objects_is_none_itself(cli: CommandLine) -> None:
    text = DATA + "        environment:\n          OBJECT: |\n            apiVersion: v1\n            kind: Pod\n"
    cli.ok("template", "create", "-", stdin=text)
    assert cli.json("template", "get", "inner")["data"] == text


def test_who_sends_an_object_to_a_server_is_told_what_to_send() -> None:
    with pytest.raises(errors.InvalidField) as caught:
        template.parse_template(written())
    assert str(caught.value) == (
        "data: line 1, column 1: this is an object of Kubernetes; give the text that a kind: Template has in spec.data"
    )
