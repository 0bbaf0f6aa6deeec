"""Files and flags of values are united in a fixed order, and secrets are known by their places."""

import decimal

import pytest

from tinkwell.core import errors
from tinkwell.core.release.chart.value import flag, user_values
from tinkwell.core.release.chart.value.user_values import UserValues
from tinkwell.core.value.document import JsonObject

FILES = {
    "base.yaml": "image: {name: nginx, tag: '1'}\nports: [80, 443]\nkeep: yes\n",
    "prod.yaml": '{"image": {"tag": "2"}, "ports": [8080]}',
    "empty.yaml": "# nothing\n",
    "-": "from: stdin\n",
    "note.txt": "two\nlines\n",
    "password": "correct horse\n",
}


def read(path: str) -> str:
    if path not in FILES:
        raise errors.InvalidField.of(path, "No such file or directory")
    return FILES[path]


def unite(**given: list[str]) -> UserValues:
    return user_values.unite(given, read)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({}, {}),
        ({"values": ["base.yaml"]}, {"image": {"name": "nginx", "tag": "1"}, "ports": [80, 443], "keep": "yes"}),
        (
            {"values": ["base.yaml", "prod.yaml"]},
            {"image": {"name": "nginx", "tag": "2"}, "ports": [8080], "keep": "yes"},
        ),
        ({"values": ["empty.yaml", "-"]}, {"from": "stdin"}),
        ({"set": ["a=1,b.c={x,y}", "a=2"]}, {"a": 2, "b": {"c": ["x", "y"]}}),
        ({"set": ["a=null"]}, {"a": None}),
        ({"set_json": ['a={"b": 1.50}', '{"c": []}']}, {"a": {"b": decimal.Decimal("1.50")}, "c": []}),
        ({"set_string": ["a=1,b=true"]}, {"a": "1", "b": "true"}),
        ({"set_file": ["a=note.txt,b.c=password"]}, {"a": "two\nlines\n", "b": {"c": "correct horse\n"}}),
        ({"set_literal": ["a=x,y=z\\"]}, {"a": "x,y=z\\"}),
    ],
)
def test_each_kind_gives_its_values(given: dict[str, list[str]], values: JsonObject) -> None:
    assert unite(**given) == UserValues(values)


def test_kinds_count_in_a_fixed_order_whatever_the_order_of_the_line() -> None:
    kinds = {
        "set_secret_file": "a=password",
        "set_secret": "a=secret one",
        "set_literal": "a=literal",
        "set_file": "a=note.txt",
        "set_string": "a=string",
        "set": "a=typed",
        "set_json": 'a="json"',
        "values": "-",
    }
    assert list(kinds) == [each.key for each in reversed(flag.FLAGS)]
    winners = ["correct horse", "secret one", "literal", "two\nlines\n", "string", "typed", "json"]
    for winner in winners:
        assert unite(**{key: [text] for key, text in kinds.items()}).values["a"] == winner
        kinds.pop(next(iter(kinds)))
    assert unite(**{key: [text] for key, text in kinds.items()}).values == {"from": "stdin"}


def test_secrets_are_values_whose_places_are_told() -> None:
    found = unite(
        set=["users[0].name=ada"],
        set_secret=["users[0].password=a,b=c", "a/b\\.c=second one"],
        set_secret_file=["key=password", "users[0].password=password"],
    )
    assert found.values == {
        "users": [{"name": "ada", "password": "correct horse"}],
        "a/b.c": "second one",
        "key": "correct horse",
    }
    assert found.secrets == ("/users/0/password", "/a~1b.c", "/key")


def test_each_file_and_flag_is_known_by_itself() -> None:
    found = unite(values=["empty.yaml", "-"], set=["a=1", "b[1]=2"], set_secret=["c=hidden"])
    assert [(part.name, part.values, part.is_secret) for part in found.parts] == [
        ("empty.yaml", {}, False),
        ("standard input", {"from": "stdin"}, False),
        ("--set", {"a": 1}, False),
        ("--set", {"b": [None, 2]}, False),
        ("--set-secret", {"c": "hidden"}, True),
    ]
    assert [part.text for part in found.parts[:3]] == ["# nothing\n", "from: stdin\n", ""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"set": ["a=1,b"]}, "--set a=1,b: "),
        ({"set": ["a.b=1", "a.b.c=2"]}, "--set a.b.c=2: a.b is "),
        ({"set_json": ["a={"]}, "--set-json a={: "),
        ({"set_file": ["a=none.txt"]}, "none.txt: No such file or directory"),
        ({"set_secret": ["nothing"]}, "--set-secret nothing: "),
        ({"set_secret": ["a=hidden", "a.b=hidden"]}, "--set-secret a.b=…: a is "),
        ({"values": ["none.yaml"]}, "none.yaml: No such file or directory"),
        ({"values": ["-", "-"]}, "--values: standard input is given twice"),
    ],
)
def test_what_is_wrong_is_told_with_its_flag(given: dict[str, list[str]], message: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        unite(**given)
    assert message in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "prod.yaml:2:1: the key a occurs twice"),
        ("a: [\n", "prod.yaml:2:1: not YAML"),
        ("- a\n", "prod.yaml:1:1: a file of values is one object, such as `replicas: 2`"),
        ("a: 1\n---\nb: 2\n", "prod.yaml: holds 2 documents; a file of values has one"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        user_values.read_values("prod.yaml", text)
    assert str(caught.value).startswith(message)
