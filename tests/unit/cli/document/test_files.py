"""Reading JSON, JSON lines and YAML, and saying where they are wrong."""

import decimal
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.cli import failure
from tinkwell.cli.document import files, json_text
from tinkwell.core import errors
from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position
from tinkwell.core.value.yaml import text as yaml_text

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(st.characters(exclude_categories=("Cs", "Cc"))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def values(name: str, text: str) -> list[Any]:
    return [part.value for part in files.parts(files.Source(name, text))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("one.json", '{"id": "a"}\n{"id": "b"}'),
        ("list.json", ' [{"id": "a"}, {"id": "b"}] '),
        ("lines.jsonl", '{"id": "a"}\n\n{"id": "b"}\n'),
        ("standard input", '[{"id": "a"}]{"id": "b"}'),
        ("list.yaml", "- id: a\n- id: b\n"),
        ("documents.yml", "id: a\n---\nid: b\n"),
        ("ended.yaml", "---\n---\nid: a\n---\n# nothing\n---\nid: b\n---\n"),
        ("standard input", "- {id: a}\n- id: b\n"),
        ("flow.yaml", "[{id: a}, {id: b}]"),
        ("merge.yaml", "- &x {id: a}\n- {<<: *x, id: b}\n"),
    ],
)
def test_all_ways_to_write_several_values_are_read(name: str, text: str) -> None:
    assert values(name, text) == [{"id": "a"}, {"id": "b"}]


def test_yaml_means_what_json_can_hold() -> None:
    text = "[1, 0x10, 0o17, 1.50, yes, true, null, 2026-11-20, 52:54:00:10:00:03, '1', !!str 2]"
    assert values("x.yaml", text) == [
        *(1, 16, 15, decimal.Decimal("1.50"), "yes", True, None, "2026-11-20", "52:54:00:10:00:03", "1", "2")
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"id": "a"}\n{"id" "b"}', "a.json:2:7: not JSON: Expecting ':' delimiter"),
        ("a.json", "[1, 2", "a.json:1:6: not JSON"),
        ("a.json", "id: x", "a.json:1:1: not JSON"),
        ("a.json", '{"a": {"b": 1,\n "b": 2}}', 'a.json:1:2: a: the key "b" occurs twice'),
        ("a.json", '{"a": [1,\n  "\\u0000"]}', "a.json:2:3: a[1]: the text"),
        ("a.json", "[" * 100_000, "a.json:1:1: is nested too deeply"),
        ("a.json", '{"a": NaN}', "a.json:1:2: a: NaN is not a JSON number"),
        ("a.json", '{"a": ' + "1" * 5_000 + "}", "a.json:1:2: a: a number has 5,000 characters; at most 64"),
        ("a.json", '{"a": 1e400}', "a.json:1:2: a: the number 1e400 is beyond what a double can hold"),
        ("a.yaml", "a: " + "1" * 5_000, "a.yaml:1:4: a number has 5,000 characters; at most 64"),
        ("a.yaml", "a: 0." + "1" * 5_000, "a.yaml:1:4: a number has 5,002 characters; at most 64"),
        ("a.yaml", "a: 1\nb: [1", "a.yaml:2:"),
        ("a.yaml", "a: 1\na: 2", "a.yaml:2:1: the key a occurs twice"),
        ("a.yaml", "a: .nan", "a.yaml:1:4: .nan is not a number of JSON"),
        ("a.yaml", "a:\n  - !!binary aGk=", "a.yaml:2:5: the tag !!binary has no form in JSON"),
        ("a.yaml", "? [1]\n: 2", "a.yaml:1:3: a key must be text"),
        ("a.yaml", "a: &x [*x]", "a.yaml:1:"),
        ("a.yaml", "a: \x07", "a.yaml:1:4: the character U+0007 is not allowed"),
        ("a.yaml", "a:\n\tb: 1", "a.yaml:2:1: not YAML"),
        ("a.yaml", "x: &a 1\ny: {<<: *a}", "a.yaml:2:5: only mappings can be merged"),
        ("a.yaml", '"\\UFFFFFFFF"', "a.yaml:1:1: not YAML"),
        ("a.yaml", '"\\U00110000"', "a.yaml:1:1: not YAML"),
        ("a.yaml", "%YAML 9.x\n---\na", "a.yaml:"),
        ("a.yaml", "[" * 5_000, "a.yaml:"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_column(name: str, text: str, message: str) -> None:
    with pytest.raises(failure.Failure) as caught:
        values(name, text)
    assert caught.value.message.startswith(message)


def test_an_alias_bomb_is_refused_before_it_unfolds() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    with pytest.raises(failure.Failure, match="unfolds to more than 1,000,000 values"):
        values("bomb.yaml", "\n".join(lines))


@pytest.mark.parametrize(
    "repeated", ["&a {text}", "&a {{k: {text}}}", "&a {{? {text} : 1}}"], ids=["a text", "a member", "a key"]
)
def test_a_bomb_of_long_texts_is_refused_before_it_unfolds(repeated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_node, "MAX_CHARACTERS", 10_000)
    lines = [repeated.format(text="x" * 1_000), *(["*a"] * 10)]
    with pytest.raises(failure.Failure, match="unfolds to more than 10,000 characters"):
        values("bomb.yaml", "\n".join(f"k{number}: {line}" for number, line in enumerate(lines)))


MACHINE_JSON = """[
  {"id": "a"},
  {"id": "b",
   "network": {"interfaces": [
     {"dhcp": {"mac": "x"}}]}}
]"""
MACHINE_YAML = """- id: a
- id: b
  network:
    interfaces:
      - dhcp:
          mac: x
"""


@pytest.mark.parametrize(
    ("name", "text", "path", "place"),
    [
        ("m.json", MACHINE_JSON, "network.interfaces[0].dhcp.mac", "m.json:5:16"),
        ("m.json", MACHINE_JSON, "data.network.interfaces[0]", "m.json:5:6"),
        ("m.json", MACHINE_JSON, "network.nothing", "m.json:4:4"),
        ("m.json", MACHINE_JSON, "", "m.json:3:3"),
        ("m.yaml", MACHINE_YAML, "network.interfaces[0].dhcp.mac", "m.yaml:6:11"),
        ("m.yaml", MACHINE_YAML, "network.interfaces[7]", "m.yaml:4:5"),
        ("m.yaml", MACHINE_YAML, "id", "m.yaml:2:3"),
    ],
)
def test_the_path_of_a_violation_becomes_a_place_in_the_file(name: str, text: str, path: str, place: str) -> None:
    part = list(files.parts(files.Source(name, text)))[1]
    [sentence] = part.explain([errors.Violation(path, "is wrong")]).sentences
    assert sentence.startswith(f"{place}: ")
    assert sentence.endswith(": is wrong")


def test_a_place_in_a_description_becomes_part_of_the_file_name() -> None:
    source = files.Source("t.yaml", "")
    told = source.explain([errors.Violation("data.tasks[0].name", "line 3, column 5: must not be empty")])
    assert told.sentences == ("t.yaml:3:5: tasks[0].name: must not be empty",)


@given(JSON_VALUES)
def test_yaml_that_is_written_reads_back_the_same(value: Any) -> None:
    [node] = list(yaml_node.documents(yaml_text.dump(value)))
    assert yaml_node.value_of(node) == value


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, min_size=1, max_size=5), st.data())
def test_every_member_of_a_json_object_is_found_where_it_stands(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, indent=1)
    key = data.draw(st.sampled_from(list(value)))
    place = json_text.locate(text, 0, (key,))
    assert text.splitlines()[place.line - 1][place.column - 1 :].startswith(json.dumps(key))


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a.b[0].c-d", ("a", "b", 0, "c-d")),
        ('a["x \\" y"].b', ("a", 'x " y', "b")),
        ("", ()),
        ("a[0", ("a",)),
        ("[3]", (3,)),
    ],
)
def test_a_path_is_taken_apart_as_far_as_it_is_understood(path: str, parts: position.Path) -> None:
    assert position.parse_path(path) == parts


def test_a_byte_that_is_not_utf_8_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b'{"a":\n "\xff"}')
    with pytest.raises(failure.Failure, match=r"x\.json:2:3: the byte 0xff is not UTF-8"):
        files.read(str(file))


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"\xef\xbb\xbf{}")
    assert files.read(str(file)).text == "{}"


def test_a_file_that_is_too_big_is_not_read_to_its_end() -> None:
    with pytest.raises(failure.Failure, match="larger than 1 MiB"):
        files.read("/dev/zero", max_bytes=1024 * 1024)


@pytest.mark.parametrize(("path", "reason"), [("/nowhere/x", "No such file"), ("/", "directory")])
def test_a_file_that_cannot_be_read_is_named_with_the_reason(path: str, reason: str) -> None:
    with pytest.raises(failure.Failure, match=rf"{path}: .*{reason}"):
        files.read(path)
