"""Evaluating what waited, and the files of variables."""

from typing import Any

import pytest
from unit.provisioner.release.expression.asking import resolved, same_process, unresolved

from tinkwell.core import errors
from tinkwell.core.release.manifest.late import Late

NAMES = {"disk": {"name": "my_disk", "type": "acme/disk", "state": {"zone": "eu", "tags": ["{{ x }}"], "n": 2}}}
VARIABLES = {"size": 1, "disk": "shadowed"}


def waiting(*pointers: str, each: Any = None) -> Late:
    return Late(pointers=pointers, names={"disk": "my_disk"}, each=each)


async def test_texts_that_waited_get_their_values_and_nothing_else_is_touched() -> None:
    config = {
        "zone": "{{ disk.state.zone }}",
        "deep": [{"a/b~c": "{{ disk.state.n + size }}"}, "{{ not listed }}"],
        "state": "{{ disk.state }}",
        "text": "in {{ disk.state.zone }} of {{ release.name }}",
    }
    late = waiting("/zone", "/deep/0/a~1b~0c", "/state", "/text")
    assert await resolved(config, late, NAMES, VARIABLES) == {
        "zone": "eu",
        "deep": [{"a/b~c": 3}, "{{ not listed }}"],
        "state": {"zone": "eu", "tags": ["{{ x }}"], "n": 2},
        "text": "in eu of shop",
    }


async def test_an_item_of_a_list_gets_its_value() -> None:
    assert await resolved({"a": ["x", "{{ disk.state.n }}"]}, waiting("/a/1"), NAMES) == {"a": ["x", 2]}


async def test_each_is_what_it_was_when_the_manifest_was_rendered() -> None:
    late = waiting("/x", each={"key": "zone", "value": 1})
    assert await resolved({"x": "{{ disk.state[each.key] }}"}, late, NAMES) == {"x": "eu"}


async def test_a_state_that_lacks_something_is_told_with_the_path() -> None:
    config = {"a": ["{{ disk.state.zon }}"], "b": "{{ disk.sate }}", "c": "{{ dsk.state }}"}
    assert await unresolved(config, waiting("/a/0", "/b", "/c"), NAMES) == {
        "resources.web.config.a[0]": "`{{ disk.state.zon }}`: there is no zon in it; did you mean zone?",
        "resources.web.config.b": "`{{ disk.sate }}`: there is no sate in it; did you mean state?",
        "resources.web.config.c": "`{{ dsk.state }}`: there is no dsk here; did you mean disk?",
    }


async def test_a_pointer_that_leads_nowhere_is_told() -> None:
    problems = await unresolved({"a": "{{ disk }}"}, waiting("/b"), NAMES)
    assert list(problems) == ["resources.web.config"]


async def variables(*files: tuple[str, Any], given: Any = None) -> Any:
    return await same_process().variables(files, given or {})


async def test_a_file_sees_the_variables_before_it_and_not_its_own() -> None:
    found = await variables(("a.yaml", {"s": "abc", "n": "{{ prev_n + 1 }}"}), given={"prev_n": 1})
    assert found == {"prev_n": 1, "s": "abc", "n": 2}
    assert await variables(("a.yaml", {"x": 1}), ("b.yaml", {"y": "{{ x + vars.x }}"})) == {"x": 1, "y": 2}
    with pytest.raises(errors.InvalidField, match=r"^a\.yaml\.y: `\{\{ x \}\}`: there is no x here; known are vars$"):
        await variables(("a.yaml", {"x": 1, "y": "{{ x }}"}))


async def test_objects_are_merged_and_everything_else_is_replaced() -> None:
    found = await variables(
        ("a.yaml", {"o": {"b": {"x": 1}, "l": [1, 2]}, "t": "a"}),
        ("b.yaml", {"o": {"b": {"y": "{{ o.b.x }}"}, "l": [3]}, "t": {"z": 1}}),
        given={"o": {"a": 0}},
    )
    assert found == {"o": {"a": 0, "b": {"x": 1, "y": 1}, "l": [3]}, "t": {"z": 1}}


async def test_a_value_that_was_given_is_never_evaluated() -> None:
    found = await variables(("a.yaml", {"x": "{{ evil }}"}), given={"evil": "{{ vars }}"})
    assert found == {"evil": "{{ vars }}", "x": "{{ vars }}"}


@pytest.mark.parametrize("text", ["{{aaa}}}", "{{aaa", "{{ aaa }}"])
async def test_a_bad_expression_in_a_file_is_told_with_its_path(text: str) -> None:
    with pytest.raises(errors.InvalidField, match=r"^vars/prod\.yaml\.foo\.bar\[0\]: "):
        await variables(("vars/prod.yaml", {"foo": {"bar": [text]}}))
