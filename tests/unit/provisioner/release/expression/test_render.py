"""Rendering a manifest: what is evaluated at once, what waits, and what is refused."""

from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE, refused, rendered

from tinkwell.provisioner.release.expression import render

DISK = {"type": "acme/disk", "config": {"name": "www_data_disk", "size": "200gb"}}


def vm(config: Any, dependencies: Any = None, **others: Any) -> dict[str, Any]:
    return {"type": "acme/vm", "dependencies": dependencies or {"disk": "my_disk"}, "config": config, **others}


def late(config: Any, variables: Any = None, dependencies: Any = None, **others: Any) -> Any:
    """Return what is late in the config of one resource that depends on a disk."""
    answer = rendered({"my_disk": DISK, "web": vm(config, dependencies, **others)}, variables)
    return answer["late"]["resources"].get("web", {})


def reason(config: Any, variables: Any = None, dependencies: Any = None, **others: Any) -> str:
    """Return what is said of the one text of a config."""
    problems = refused({"my_disk": DISK, "my_net": DISK, "web": vm(config, dependencies, **others)}, variables)
    ((field, said),) = problems.items()
    assert field.startswith("resources.web.config.")
    return said


def test_every_text_of_a_resource_is_evaluated_and_nothing_else_is_changed() -> None:
    resource = {
        "type": "acme/vm:{{ version }}",
        "dependencies": {"disk": "{{ disk_name }}"},
        "config": {
            "plain": "3+4",
            "{{ key }}": ["{{ size + 1 }}", {"deep": "x{{ size }}"}, 7, None, True, 1.5],
            "empty": {},
        },
        "timeouts": {"action": "{{ size * 10 }}"},
        "concurrency_key": "vm-{{ release.name }}",
        "readonly": True,
        "retries": 3,
        "ignore": ["/a"],
    }
    variables = {"version": "1.2", "disk_name": "my_disk", "size": 3}
    answer = rendered({"my_disk": DISK, "web": resource}, variables, plugs={"p": {"path": "{{ vars.disk_name }}"}})
    assert answer["resources"] == {
        "my_disk": DISK,
        "web": {
            "type": "acme/vm:1.2",
            "dependencies": {"disk": "my_disk"},
            "config": {"plain": "3+4", "{{ key }}": [4, {"deep": "x3"}, 7, None, True, 1.5], "empty": {}},
            "timeouts": {"action": 30},
            "concurrency_key": "vm-shop",
            "readonly": True,
            "retries": 3,
            "ignore": ["/a"],
        },
    }
    assert answer["plugs"] == {"p": {"path": "my_disk"}}
    assert answer["late"] == {"resources": {}, "outputs": {"pointers": [], "names": {}}}
    assert answer["disabled"] == answer["warnings"] == []


def test_expressions_know_the_release_and_the_variables() -> None:
    config = {"release": "{{ release }}", "all": "{{ vars }}", "one": "{{ vars['a-b'] }}", "own": "{{ c }}"}
    answer = rendered({"web": {"type": "t", "config": config}}, {"a-b": 1, "c": [2]})
    assert answer["resources"]["web"]["config"] == {
        "release": RELEASE,
        "all": {"a-b": 1, "c": [2]},
        "one": 1,
        "own": [2],
    }


def test_a_variable_with_a_name_that_means_something_else_is_warned_of() -> None:
    answer = rendered({"web": {"type": "t", "config": {"x": "{{ release.name }}"}}}, {"release": "1.2"})
    assert answer["resources"]["web"]["config"] == {"x": "shop"}
    assert answer["warnings"] == ["variables.release: the name has a meaning of its own; write vars.release"]


def test_what_comes_out_of_a_variable_is_never_evaluated() -> None:
    variables = {"evil": "{{ release }}", "deep": {"x": ["{{ disk.state }}"]}}
    answer = rendered(
        {"my_disk": DISK, "web": vm({"a": "{{ evil }}", "b": "{{ deep }}", "c": "-{{ evil }}"})}, variables
    )
    assert answer["resources"]["web"]["config"] == {
        "a": "{{ release }}",
        "b": {"x": ["{{ disk.state }}"]},
        "c": "-{{ release }}",
    }
    assert answer["late"]["resources"] == {}


def test_a_text_that_names_a_dependency_waits() -> None:
    config = {
        "zone": "{{ disk.state.zone }}",
        "a/b~c": ["x", {"y": "on {{ disk.name }}"}],
        "now": "{{ size }}",
        "both": "{{ disk.state.zone ~ size }}",
    }
    assert late(config, {"size": 1}) == {
        "pointers": ["/zone", "/a~1b~0c/1/y", "/both"],
        "names": {"disk": "my_disk"},
    }


def test_a_text_that_waits_stays_as_it_is() -> None:
    answer = rendered({"my_disk": DISK, "web": vm({"zone": "{{ disk.state.zone }}"})})
    assert answer["resources"]["web"]["config"] == {"zone": "{{ disk.state.zone }}"}


def test_an_alias_stands_before_a_variable_and_the_name_of_a_resource_behind() -> None:
    assert late({"x": "{{ disk.state }}"}, {"disk": 1})["names"] == {"disk": "my_disk"}
    assert late({"x": "{{ my_disk.state }}"})["names"] == {"my_disk": "my_disk"}
    assert late({"x": "{{ my_disk }}"}, {"my_disk": 1}) == {}


def test_the_literal_name_in_the_config_of_a_dependency_means_it_and_is_warned_of() -> None:
    answer = rendered({"my_disk": DISK, "web": vm({"zone": "{{ www_data_disk.state.zone }}"})})
    assert answer["late"]["resources"]["web"]["names"] == {"www_data_disk": "my_disk"}
    assert answer["warnings"] == ["resources.web.config: www_data_disk is the name in a config; write the alias, disk"]


def test_a_name_in_two_configs_or_of_an_expression_means_nothing() -> None:
    assert reason({"x": "{{ www_data_disk }}"}, dependencies={"a": "my_disk", "b": "my_net"}).startswith(
        "`{{ www_data_disk }}`: www_data_disk is not known here"
    )
    disk = {"type": "t", "config": {"name": "{{ n }}"}}
    problems = refused({"d": disk, "web": vm({"x": "{{ late_name }}"}, {"disk": "d"})}, {"n": "late_name"})
    assert list(problems) == ["resources.web.config.x"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ dsk.state }}", "dsk is not known here; did you mean disk?"),
        ("{{ sise }}", "sise is not known here; did you mean size?"),
        ("{{ relase.name }}", "relase is not known here; did you mean release?"),
        ("{{ my_net.state }}", "my_net is another resource; add it to dependencies, as in {my_net: my_net}"),
        ("{{ each.key }}", "each is known only where for_each is given"),
        ("{{ dict(a=1) }}", "dict is not available in expressions"),
        ("{{ some-name }}", "some is not known here; the - of some-name reads as minus, so give it another name"),
        ("{{ disk.state ~ sise }}", "sise is not known here; did you mean size?"),
        ("{{ quite_unlike }}", "quite_unlike is not known here"),
        ("{{ size + 'x' }}", "+ does not take a number and a string; ~ joins texts"),
        ("{{ size", "is no valid expression: unexpected end of template"),
    ],
)
def test_what_is_wrong_is_told_with_the_expression_and_the_nearest_name(text: str, said: str) -> None:
    assert said in reason({"x": text}, {"size": 1, "some-name": 1})


def test_a_long_expression_is_shortened_and_no_value_is_told() -> None:
    said = reason({"x": "{{ " + "size + " * 100 + "nope }}"}, {"size": 1, "password": "hunter2"})
    assert len(said) < 200
    assert said.startswith("`{{ size + size")
    assert "hunter2" not in said


def test_a_text_that_waits_may_do_without_a_name() -> None:
    assert late({"x": "{{ disk.state ~ (nope | default(1)) }}"})["pointers"] == ["/x"]
    assert late({"x": "{{ disk.state if nope is undefined else nope }}"})["pointers"] == ["/x"]
    assert late({"x": "{% for i in range(2) %}{{ disk.state }}{% endfor %}"})["pointers"] == ["/x"]


def test_everything_that_is_wrong_is_told_at_once_up_to_a_number() -> None:
    problems = refused({"web": {"type": "{{ a }}", "config": {"x": ["{{ b }}", {"y": "{{ c }}"}]}}})
    assert list(problems) == ["resources.web.type", "resources.web.config.x[0]", "resources.web.config.x[1].y"]
    many = refused({"web": {"type": "t", "config": {"x": ["{{ a }}"] * 100}}})
    assert len(many) == 20


@pytest.mark.parametrize("field", ["type", "when", "for_each", "concurrency_key"])
def test_only_config_and_outputs_may_wait(field: str) -> None:
    problems = refused({"my_disk": DISK, "web": vm({}, **{field: "{{ disk.state.x }}"})})
    ((place, said),) = problems.items()
    assert place == f"resources.web.{field}"
    assert "{{ disk.state.x }}`: disk is " in said


def test_a_resource_that_is_not_wanted_is_dropped() -> None:
    resources = {
        "a": {"type": "t", "when": "{{ release.is_install }}", "config": {"x": "{{ nowhere }}"}},
        "b": {"type": "t", "when": "{{ release.is_upgrade and size > 1 }}"},
        "c": {"type": "t", "when": False},
        "d": {"type": "t", "when": True},
    }
    answer = rendered(resources, {"size": 2})
    assert answer["resources"] == {"b": {"type": "t"}, "d": {"type": "t"}}
    assert answer["disabled"] == ["a", "c"]


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("{{ 'yes' }}", "must be true or false, and not a string"),
        ("x{{ 1 }}", "must be true or false, and not a string"),
        ("{{ 1 }}", "must be true or false, and not a number"),
        ("{{ none }}", "must not be null"),
        ("{{ nope }}", "`{{ nope }}`: nope is not known here"),
    ],
)
def test_a_condition_is_true_or_false(when: str, said: str) -> None:
    assert refused({"web": {"type": "t", "when": when}}) == {"resources.web.when": said}


def test_a_dependency_that_is_not_wanted_is_an_error_that_names_both() -> None:
    assert refused({"my_disk": {**DISK, "when": False}, "web": vm({})}) == {
        "resources.web.dependencies.disk": "my_disk is disabled by its when, and web needs it; give both the same when"
    }


@pytest.mark.parametrize(
    ("dependency", "said"),
    [
        ("my_dsk", 'there is no resource "my_dsk"; did you mean my_disk?'),
        ("elsewhere", 'there is no resource "elsewhere"'),
        ("many[c]", 'there is no resource "many[c]"; did you mean many[b]?'),
        ("my_disk[0]", 'there is no resource "my_disk[0]"; did you mean my_disk?'),
        ("{{ 5 }}", "must name a resource, and is a number"),
        ("{{ nope }}", "`{{ nope }}`: nope is not known here"),
    ],
)
def test_a_dependency_that_leads_nowhere_is_told_with_the_nearest_resource(dependency: str, said: str) -> None:
    many = {"type": "t", "for_each": {"a": 1, "b": 2}}
    assert refused({"my_disk": DISK, "many": many, "web": vm({}, {"x": dependency})}) == {
        "resources.web.dependencies.x": said
    }


def test_for_each_makes_a_resource_for_each_key() -> None:
    disk = {
        "type": "t{{ each.value.v }}",
        "for_each": {"a": {"v": 1}, "b": {"v": "{{ two }}"}},
        "when": "{{ each.key != 'c' }}",
        "config": {"name": "disk-{{ each.key }}", "value": "{{ each.value }}"},
    }
    answer = rendered({"disk": disk}, {"two": 2})
    assert answer["resources"] == {
        "disk[a]": {"type": "t1", "config": {"name": "disk-a", "value": {"v": 1}}},
        "disk[b]": {"type": "t2", "config": {"name": "disk-b", "value": {"v": 2}}},
    }


def test_for_each_counts_the_items_of_a_list() -> None:
    disk = {
        "type": "t",
        "for_each": "{{ zones }}",
        "config": {"next": "{{ each.key + 1 }}", "zone": "{{ each.value }}"},
    }
    answer = rendered({"disk": disk}, {"zones": ["eu", "{{ us }}"]})
    assert answer["resources"] == {
        "disk[0]": {"type": "t", "config": {"next": 1, "zone": "eu"}},
        "disk[1]": {"type": "t", "config": {"next": 2, "zone": "{{ us }}"}},
    }


def test_a_dependency_means_one_or_all_that_for_each_made() -> None:
    resources = {
        "web": {
            "type": "t",
            "dependencies": {"all": "disk", "one": "disk[b]", "zero": "nothing"},
            "config": {"a": "{{ all }}", "b": "{{ one.state }}", "c": "{{ zero }}", "d": "{{ disk }}"},
        },
        "disk": {"type": "t", "for_each": {"a": 1, "b": 2, "c": 3}, "when": "{{ each.value < 3 }}"},
        "nothing": {"type": "t", "for_each": []},
    }
    answer = rendered(resources)
    both = ["disk[a]", "disk[b]"]
    assert answer["resources"]["web"]["dependencies"] == {"all": both, "one": "disk[b]", "zero": []}
    assert answer["late"]["resources"]["web"] == {
        "pointers": ["/a", "/b", "/c", "/d"],
        "names": {"all": both, "disk": both, "one": "disk[b]", "zero": []},
    }
    assert answer["disabled"] == ["disk[c]"]


def test_a_dependency_on_what_when_drops_is_an_error_also_with_for_each() -> None:
    disk = {"type": "t", "for_each": [1, 2], "when": False}
    said = "is disabled by its when, and web needs it; give both the same when"
    assert refused({"disk": disk, "web": vm({}, {"x": "disk", "y": "disk[1]"})}) == {
        "resources.web.dependencies.x": f"disk {said}",
        "resources.web.dependencies.y": f"disk[1] {said}",
    }


def test_what_waits_keeps_each_if_it_needs_that() -> None:
    web = vm({"x": "{{ disk.state[each.key] }}"}, for_each={"a": 1})
    other = vm({"x": "{{ disk.state }}", "y": "{{ each.key }}"}, for_each={"b": 2})
    answer = rendered({"my_disk": DISK, "web": web, "other": other})
    assert answer["late"]["resources"] == {
        "web[a]": {"pointers": ["/x"], "names": {"disk": "my_disk"}, "each": {"key": "a", "value": 1}},
        "other[b]": {"pointers": ["/x"], "names": {"disk": "my_disk"}},
    }


def test_each_resource_may_depend_on_its_own_of_another() -> None:
    web = {"type": "t", "for_each": ["x", "y"], "dependencies": {"disk": "disk[{{ each.key }}]"}}
    answer = rendered({"disk": {"type": "t", "for_each": [1, 2]}, "web": web})
    assert answer["resources"]["web[1]"]["dependencies"] == {"disk": "disk[1]"}


@pytest.mark.parametrize(
    ("for_each", "said"),
    [
        ("{{ 5 }}", "must be a list or an object, and not a number"),
        ("x{{ 5 }}", "must be a list or an object, and not a string"),
        ("{{ none }}", "must not be null"),
        ("{{ nope }}", "`{{ nope }}`: nope is not known here"),
        ({"a b": 1}, 'the key "a b" is not made of letters, digits, _, . and -'),
        ({"../x": 1}, 'the key "../x" is not made of letters, digits, _, . and -'),
        ({"": 1}, 'the key "" is not made of letters, digits, _, . and -'),
        ({"x" * 65: 1}, "at most 64 in all"),
    ],
)
def test_for_each_is_a_list_or_an_object_with_short_keys(for_each: Any, said: str) -> None:
    ((place, found),) = refused({"web": {"type": "t", "for_each": for_each}}).items()
    assert place == "resources.web.for_each"
    assert said in found


def test_a_release_has_at_most_5000_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "MAX_RESOURCES", 3)
    web = {"type": "t", "for_each": "{{ range(4) }}"}
    assert refused({"web": web}) == {"resources.web": "is one of more than 3 resources"}


def test_outputs_know_every_resource_that_is_wanted() -> None:
    outputs = {"url": "http://{{ web.state.host }}", "all": ["{{ many }}"], "size": "{{ size + 1 }}", "fixed": 1}
    resources = {"web": {"type": "t"}, "many": {"type": "t", "for_each": ["x"]}}
    answer = rendered(resources, {"size": 1, "web": "a variable"}, outputs=outputs)
    assert answer["outputs"] == {**outputs, "size": 2}
    assert answer["late"]["outputs"] == {
        "pointers": ["/url", "/all/0"],
        "names": {"many": ["many[0]"], "web": "web"},
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ wbe.state }}", "wbe is not known here; did you mean web?"),
        ("{{ off.state }}", "off is disabled by its when"),
        ("{{ each.key }}", "each is not known here"),
    ],
)
def test_an_output_that_names_nothing_is_told(text: str, said: str) -> None:
    resources = {"web": {"type": "t"}, "off": {"type": "t", "when": False}}
    assert refused(resources, outputs={"x": {"y": text}}) == {"outputs.x.y": f"`{text}`: {said}"}


def test_a_plug_that_is_wrong_is_told() -> None:
    assert refused({}, plugs={"p": {"path": "{{ nope }}"}}) == {"plugs.p.path": "`{{ nope }}`: nope is not known here"}


def test_a_value_and_what_it_stands_in_are_nested_at_most_64_levels_deep() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert rendered({"web": {"type": "t", "config": {"x": "{{ deep }}"}}}, {"deep": deep})
    assert "nested deeper than 64 levels" in str(
        refused({"web": {"type": "t", "config": {"x": ["{{ deep }}"]}}}, {"deep": deep})
    )


def test_the_example_of_the_document_is_rendered() -> None:
    resources = {
        "my_data_disk": {"type": "acme/deployster-gcp-disk", "config": {"name": "www_data_disk", "size": "200gb"}},
        "www_vm": {
            "type": "acme/deployster-gcp-vm",
            "dependencies": {"disk": "my_data_disk"},
            "config": {
                "name": "www_vm",
                "zone": "{{ www_data_disk.state.zone }}",
                "machine-type": "n1-standard-4",
            },
        },
    }
    answer = rendered(resources)
    assert answer["resources"] == resources
    assert answer["late"]["resources"] == {
        "www_vm": {"pointers": ["/zone"], "names": {"www_data_disk": "my_data_disk"}}
    }
