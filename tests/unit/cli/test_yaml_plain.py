"""Plain YAML is read fast, and never as anything but what ruamel.yaml reads."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinkwell.cli import document_file, failure, position, yaml_node, yaml_plain, yaml_text

MACHINE = """\
# the first rack
- id: 5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11
  metadata:
    tags: [rack-1, "row b", 7]
    weight: 1.10
    empty: {}
    nothing:
    note: 'it is: quoted'
  network:
    interfaces:
    - dhcp:
        mac: 52:54:00:10:00:03
        uefi: true
        ip:
            address: 192.168.56.43
- id: abc/def
"""


def plain(text: str) -> list[Any]:
    """Read all pieces without ruamel.yaml."""
    values = [(piece, yaml_plain.read(piece)) for piece in yaml_plain.split(text)]
    return [value[0] if piece.is_item and isinstance(value, list) else value for piece, value in values]


def by_ruamel(text: str) -> list[tuple[Any, position.Position]]:
    """Read a text as a whole; gives the values and where they begin."""
    found: list[tuple[Any, position.Position]] = []
    for node in yaml_node.documents(text):
        value = yaml_node.value_of(node)
        if isinstance(value, list):
            found += [(item, yaml_node.locate(node, (index,))) for index, item in enumerate(value)]
        else:
            found.append((value, yaml_node.locate(node, ())))
    return found


def typed(value: Any) -> Any:
    """Tell 1 from true and from 1.0."""
    match value:
        case list():
            return [typed(item) for item in value]
        case dict():
            return {key: typed(item) for key, item in value.items()}
        case _:
            return type(value).__name__, str(value)


def assert_same(text: str) -> None:
    source = document_file.Source("x.yaml", text)
    refused, expected = "", []
    try:
        expected = by_ruamel(text)
    except position.Malformed as error:
        refused = f"x.yaml:{error.position}: {error.description}"
    if refused:
        with pytest.raises(failure.Failure) as caught:
            list(document_file.parts(source))
        assert caught.value.sentences == (refused,)
        return
    parts = list(document_file.parts(source))
    assert [typed(part.value) for part in parts] == [typed(value) for value, _ in expected]
    assert [part.locate(()) for part in parts] == [place for _, place in expected]


def test_machines_as_people_write_them_are_plain() -> None:
    assert_same(MACHINE)
    assert [list(machine) for machine in plain(MACHINE)] == [["id", "metadata", "network"], ["id"]]


def test_documents_are_plain() -> None:
    assert plain("id: a\n---\nid: b\n---\n- id: c\n- id: d\n") == [{"id": name} for name in "abcd"]


@pytest.mark.parametrize(
    "text",
    [
        "- a: b\n  a: c\n",
        "- &x {id: a}\n- *x\n",
        "- {<<: {a: 1}}\n",
        "%YAML 1.2\n---\n- a\n",
        "--- a\n",
        "- a\n...\n",
        "  - a\n  - b\n",
        "  a\n- b\n",
        "---\n---\n- a\n",
        "- a\n---\n",
        "# only a word about it\n",
        "",
        "- |+\n  a\n\n- b\n",
        "- |\n  a",
        "- 'a\n- b'\n",
        "- [a,\n- b]\n",
        "- a\n  b\n- c\n",
        "- a: |\n    # no comment\n    - text\n",
        "- - a\n  - b\n- []\n- [[a]]\n",
        "- a\nb: c\n",
        "k:\n- a\n- b\nj: d\n",
        "k:\n  a\n b\n",
        "- a: 1\r\n  b: 2\r\n",
        "- a:\t1\n",
        "- a \n- b # c\n",
        "- \u2028- a\n",
        "-\n- a\n",
        "-  a\n",
        "- ? a\n  : b\n",
        "-" + " -" * 80 + " a\n",
        '- "a\\tb"\n- "é"\n',
    ],
)
def test_what_is_not_plain_is_read_as_before(text: str) -> None:
    assert_same(text)


SCALARS = """
1 01 1.0 1.10 1. .5 1e3 0x1f 0o17 0b1 1_000 -1 +1 12:30:45 2026-11-20 true True yes NO on off y null Null ~ nan .inf
.nan a:b a: :a a#b #a @a `a !a &a *a %a |a >a -a a- a,b [a] [a,b] {a} {a:b} = << 00:00:00:00:00:00 10.0.0.1 1.2.3
5f0c1c3e-8a54-4b7e-9a53-6f3f1f0f2a11 12345678-1234-1234-1234-123456789012 /dev/sda 'a' "a" '' "" "a:b" 'a#b' "\\n"
0e00:00 99999999999999999999 1.99999999999999999999
"""


@pytest.mark.parametrize("form", ["- {}\n", "- k: {}\n", "- [{}]\n", "- [x, {}]\n", "{}: a\n", "- x {}\n", "- {} x\n"])
def test_scalars_mean_what_they_mean_to_ruamel(form: str) -> None:
    for scalar in SCALARS.split():
        assert_same(form.replace("{}", scalar))


WORDS = ["a", "b", "id", "1", "1.5", "true", "x: y", '"q"', "[]", "[a, b]", "{}", "|", "# c", "'", "", "-"]
words = st.sampled_from(
    ["a", "b", "id", "1", "1.5", "true", "x: y", '"q"', "[]", "[a, b]", "{}", "|", "# c", "'", "", "-"]
)
lines = st.builds(
    lambda column, dashes, key, word: " " * column + "- " * dashes + key + word,
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from(["", "", "k: ", "j: ", "k:", "i:"]),
    st.sampled_from(WORDS),
)


@given(st.lists(lines | st.just("---"), max_size=8).map("\n".join))
@example("- k: a\n  j: b\n-  k:\n    - a\n    - b\n")
def test_lines_in_any_arrangement_mean_what_they_mean_to_ruamel(text: str) -> None:
    assert_same(text)


names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_what_the_command_line_prints_it_reads(values: list[Any]) -> None:
    assert_same(yaml_text.dump(values) + "\n")
