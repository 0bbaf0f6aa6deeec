"""How much YAML is, as written and with its aliases unfolded."""

import pytest

from tinkwell.core.value.yaml import node as yaml_node
from tinkwell.core.value.yaml import position


@pytest.mark.parametrize(
    ("text", "nodes", "aliases"),
    [("a", 1, 0), ("[a, {b: c}]", 5, 0), ("[&x [1, 2], *x, *x]", 4, 2), ("{a: &x 1, b: *x}", 4, 1), ("&x [*x]", 1, 1)],
)
def test_what_is_written_is_counted_once(text: str, nodes: int, aliases: int) -> None:
    [node] = yaml_node.documents(text)
    assert yaml_node.count(node) == yaml_node.Written(nodes, aliases)


def test_whoever_reads_may_set_closer_limits() -> None:
    [node] = yaml_node.documents("[&x [aa, bb], *x, *x]")
    assert yaml_node.value_of(node, max_values=10, max_characters=12) == [["aa", "bb"]] * 3
    with pytest.raises(position.Malformed, match="unfolds to more than 9 values"):
        yaml_node.value_of(node, max_values=9)
    with pytest.raises(position.Malformed, match="unfolds to more than 11 characters"):
        yaml_node.value_of(node, max_characters=11)


def test_mappings_that_are_merged_twice_in_each_line_are_refused_before_that_takes_long() -> None:
    lines = [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]
    [node] = yaml_node.documents("\n".join(["a0: &a0 {x: 1}", *lines]))
    with pytest.raises(position.Malformed, match="merges more than 1,000 values"):
        yaml_node.value_of(node, max_values=1_000)
