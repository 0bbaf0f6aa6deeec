"""Evaluating what waited, and the files of variables."""

from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE, ask

STATE = {"disk": {"name": "my_disk", "type": "acme/disk", "state": {"zone": "eu", "tags": ["{{ x }}"], "n": 2}}}


def resolve(document: Any, *pointers: str, **others: Any) -> tuple[Any, dict[str, str]]:
    late = {"pointers": pointers, "names": {"disk": "my_disk"}, **others}
    answer, problems = ask(
        "resolve",
        document=document,
        late=late,
        names=STATE,
        variables={"size": 1, "disk": "shadowed"},
        release=RELEASE,
        field="resources.web.config",
    )
    return answer.get("document"), problems


def test_texts_that_waited_get_their_values_and_nothing_else_is_touched() -> None:
    config = {
        "zone": "{{ disk.state.zone }}",
        "deep": [{"a/b~c": "{{ disk.state.n + size }}"}, "{{ not listed }}"],
        "state": "{{ disk.state }}",
        "text": "in {{ disk.state.zone }} of {{ release.name }}",
    }
    assert resolve(config, "/zone", "/deep/0/a~1b~0c", "/state", "/text") == (
        {
            "zone": "eu",
            "deep": [{"a/b~c": 3}, "{{ not listed }}"],
            "state": {"zone": "eu", "tags": ["{{ x }}"], "n": 2},
            "text": "in eu of shop",
        },
        {},
    )


def test_each_is_what_it_was_when_the_manifest_was_rendered() -> None:
    found, _ = resolve({"x": "{{ disk.state[each.key] }}"}, "/x", each={"key": "zone", "value": 1})
    assert found == {"x": "eu"}


def test_a_state_that_lacks_something_is_told_with_the_path() -> None:
    config = {"a": ["{{ disk.state.zon }}"], "b": "{{ disk.sate }}", "c": "{{ net.state }}"}
    assert resolve(config, "/a/0", "/b", "/c") == (
        None,
        {
            "resources.web.config.a[0]": "`{{ disk.state.zon }}`: there is no zon in it; did you mean zone?",
            "resources.web.config.b": "`{{ disk.sate }}`: there is no sate in it; did you mean state?",
            "resources.web.config.c": "`{{ net.state }}`: net is not known here",
        },
    )


def variables(*files: tuple[str, Any], given: Any = None) -> tuple[Any, dict[str, str]]:
    answer, problems = ask("variables", files=files, given=given or {})
    return answer.get("variables"), problems


def test_a_file_sees_the_variables_before_it_and_not_its_own() -> None:
    assert variables(("a.yaml", {"s": "abc", "n": "{{ prev_n + 1 }}"}), given={"prev_n": 1}) == (
        {"prev_n": 1, "s": "abc", "n": 2},
        {},
    )
    assert variables(("a.yaml", {"x": 1}), ("b.yaml", {"y": "{{ x + vars.x }}"}))[0] == {"x": 1, "y": 2}
    assert variables(("a.yaml", {"x": 1, "y": "{{ x }}"})) == (None, {"a.yaml.y": "`{{ x }}`: x is not known here"})


def test_objects_are_merged_and_everything_else_is_replaced() -> None:
    found, _ = variables(
        ("a.yaml", {"o": {"b": {"x": 1}, "l": [1, 2]}, "t": "a"}),
        ("b.yaml", {"o": {"b": {"y": "{{ o.b.x }}"}, "l": [3]}, "t": {"z": 1}}),
        given={"o": {"a": 0}},
    )
    assert found == {"o": {"a": 0, "b": {"x": 1, "y": 1}, "l": [3]}, "t": {"z": 1}}


def test_a_value_that_was_given_is_never_evaluated() -> None:
    assert variables(("a.yaml", {"x": "{{ evil }}"}), given={"evil": "{{ vars }}"})[0] == {
        "evil": "{{ vars }}",
        "x": "{{ vars }}",
    }


@pytest.mark.parametrize("text", ["{{aaa}}}", "{{aaa", "{{ aaa }}"])
def test_a_bad_expression_in_a_file_is_told_with_its_path(text: str) -> None:
    _, problems = variables(("vars/prod.yaml", {"foo": {"bar": [text]}}))
    assert list(problems) == ["vars/prod.yaml.foo.bar[0]"]
