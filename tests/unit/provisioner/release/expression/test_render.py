"""Rendering a manifest: what is evaluated at once, what waits, and what is refused."""

from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE, configs, refused, rendered

from tinkwell.core.release.manifest.late import Late, Target
from tinkwell.provisioner.release.expression import render

DISK = {"type": "acme/disk", "config": {"name": "www_data_disk", "size": "200gb"}}


def vm(config: Any, dependencies: Any = None, **others: Any) -> dict[str, Any]:
    return {"type": "acme/vm", "dependencies": dependencies or {"disk": "my_disk"}, "config": config, **others}


async def late(config: Any, variables: Any = None, dependencies: Any = None, **others: Any) -> Late:
    """Return what is late in the config of one resource that depends on a disk."""
    found = await rendered({"my_disk": DISK, "web": vm(config, dependencies, **others)}, variables)
    return found.manifest.resources["web"].late


async def reason(config: Any, variables: Any = None, dependencies: Any = None, **others: Any) -> str:
    """Return what is said of the one text of a config."""
    problems = await refused({"my_disk": DISK, "my_net": DISK, "web": vm(config, dependencies, **others)}, variables)
    ((field, said),) = problems.items()
    assert field.startswith("resources.web.config.")
    return said


async def test_every_text_of_a_resource_is_evaluated_and_nothing_else_is_changed() -> None:
    resource = {
        "type": "acme/vm:{{ version }}",
        "dependencies": {"disk": "{{ disk_name }}"},
        "config": {
            "plain": "3+4",
            "{{ key }}": ["{{ size + 1 }}", {"deep": "x{{ size }}"}, 7, None, True],
            "empty": {},
        },
        "timeouts": {"action": "{{ size * 10 }}"},
        "concurrency_key": "vm-{{ release.name }}",
        "readonly": True,
        "retries": 3,
        "ignore": ["/a"],
    }
    variables = {"version": "1.2", "disk_name": "my_disk", "size": 3}
    plugs = {"p": {"path": "{{ vars.disk_name }}", "resource_names": ["^{{ disk_name }}$"]}}
    found = await rendered({"my_disk": DISK, "web": resource}, variables, plugs=plugs)
    assert found.manifest.as_json() == {
        "plugs": {"p": {"path": "my_disk", "resource_names": ["^my_disk$"]}},
        "resources": {
            "my_disk": DISK,
            "web": {
                "type": "acme/vm:1.2",
                "dependencies": {"disk": "my_disk"},
                "config": {"plain": "3+4", "{{ key }}": [4, {"deep": "x3"}, 7, None, True], "empty": {}},
                "timeouts": {"action": 30},
                "concurrency_key": "vm-shop",
                "readonly": True,
                "retries": 3,
                "ignore": ["/a"],
            },
        },
        "outputs": {},
    }
    assert not found.manifest.late_as_json()["resources"]
    assert found.disabled == found.warnings == ()


async def test_expressions_know_the_release_and_the_variables() -> None:
    config = {"release": "{{ release }}", "all": "{{ vars }}", "one": "{{ vars['a-b'] }}", "own": "{{ c }}"}
    found = await configs({"web": {"type": "t", "config": config}}, {"a-b": 1, "c": [2]})
    assert found["web"] == {"release": RELEASE, "all": {"a-b": 1, "c": [2]}, "one": 1, "own": [2]}


async def test_what_comes_out_of_a_variable_is_never_evaluated() -> None:
    variables = {"evil": "{{ release }}", "deep": {"x": ["{{ disk.state }}"]}}
    config = {"a": "{{ evil }}", "b": "{{ deep }}", "c": "-{{ evil }}"}
    found = await rendered({"my_disk": DISK, "web": vm(config)}, variables)
    web = found.manifest.resources["web"]
    assert web.config == {"a": "{{ release }}", "b": {"x": ["{{ disk.state }}"]}, "c": "-{{ release }}"}
    assert web.late == Late()


async def test_a_text_that_names_a_dependency_waits_and_stays_as_it_is() -> None:
    config = {
        "zone": "{{ disk.state.zone }}",
        "a/b~c": ["x", {"y": "on {{ disk.name }}"}],
        "now": "{{ size }}",
        "both": "{{ disk.state.zone ~ size }}",
    }
    found = await rendered({"my_disk": DISK, "web": vm(config)}, {"size": 1})
    web = found.manifest.resources["web"]
    assert web.config == {**config, "now": 1}
    assert web.late == Late(pointers=("/zone", "/a~1b~0c/1/y", "/both"), names={"disk": "my_disk"})


async def test_an_alias_stands_before_a_variable_and_the_name_of_a_resource_behind() -> None:
    assert (await late({"x": "{{ disk.state }}"}, {"disk": 1})).names == {"disk": "my_disk"}
    assert (await late({"x": "{{ range(2) }}"}, dependencies={"range": "my_disk"})).names == {"range": "my_disk"}
    assert (await late({"x": "{{ my_disk.state }}"})).names == {"my_disk": "my_disk"}
    assert await late({"x": "{{ my_disk }}"}, {"my_disk": 1}) == Late()


async def test_the_literal_name_in_the_config_of_a_dependency_means_it_and_is_warned_of() -> None:
    found = await rendered({"my_disk": DISK, "web": vm({"zone": "{{ www_data_disk.state.zone }}"})})
    assert found.manifest.resources["web"].late.names == {"www_data_disk": "my_disk"}
    (warning,) = found.warnings
    assert "resources.web.config.zone" in warning
    assert "write its alias, disk" in warning


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ dsk.state }}", "there is no dsk here; did you mean disk?"),
        ("{{ sise }}", "there is no sise here; did you mean size?"),
        ("{{ relase.name }}", "there is no relase here; did you mean release?"),
        ("{{ my_net.state }}", "my_net is a resource, but no dependency of this one; add it to `dependencies`"),
        ("{{ dict(a=1) }}", "dict is not available in expressions"),
        ("{{ some-name }}", "there is no some here; the - of some-name reads as minus, so give it an alias or another"),
        ("{{ my-alias.state }}", "there is no my here; the - of my-alias reads as minus"),
        ("{{ disk.state ~ sise }}", "there is no sise here; did you mean size?"),
        ("{{ size + 'x' }}", "+ does not take a number and a string; ~ joins texts"),
        ("{{ release.nme }}", "there is no nme in it; did you mean name?"),
        ("{{ size", "is no valid expression: unexpected end of template"),
    ],
)
async def test_what_is_wrong_is_told_with_the_nearest_name(text: str, said: str) -> None:
    variables = {"size": 1, "some-name": 1}
    assert said in await reason({"x": text}, variables, {"disk": "my_disk", "my-alias": "my_disk"})


async def test_a_name_is_not_taken_for_the_beginning_of_another_one() -> None:
    found = await late({"x": "{{ www_data_disk.state }}"}, {"www_data_disk-2": 1})
    assert found.names == {"www_data_disk": "my_disk"}


async def test_a_long_expression_is_shortened_and_no_value_is_told() -> None:
    said = await reason({"x": "{{ " + "size + " * 30 + "'a' }}"}, {"size": 1, "password": "hunter2"})
    assert len(said) < 200
    assert said.startswith("`{{ size + size")
    assert "hunter2" not in said


async def test_a_text_may_do_without_a_name() -> None:
    assert (await late({"x": "{{ disk.state ~ (nope | default(1)) }}"})).pointers == ("/x",)
    assert (await late({"x": "{{ disk.state if nope is undefined else nope }}"})).pointers == ("/x",)
    assert (await late({"x": "{{ my_disk is defined }}"})).names == {"my_disk": "my_disk"}
    found = await configs({"web": {"type": "t", "config": {"x": "{{ nope | default(1) }}", "y": "{{ a is defined }}"}}})
    assert found["web"] == {"x": 1, "y": False}


async def test_everything_that_is_wrong_is_told_at_once_up_to_a_number() -> None:
    problems = await refused({"web": {"type": "{{ a }}", "config": {"x": ["{{ 1 + 'a' }}", {"y": "{{ 1 / 0 }}"}]}}})
    assert list(problems) == ["resources.web.type", "resources.web.config.x[0]", "resources.web.config.x[1].y"]
    assert len(await refused({"web": {"type": "t", "config": {"x": ["{{ 1 / 0 }}"] * 100}}})) == 20


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("type", "{{ disk.state.x }}"),
        ("when", "{{ disk.state.x }}"),
        ("for_each", "{{ my_disk.state.x }}"),
        ("concurrency_key", "{{ disk.state.x }}"),
        ("timeouts.action", "{{ disk.state.x }}"),
        ("dependencies.other", "{{ disk.state.x }}"),
    ],
)
async def test_only_config_and_outputs_may_wait(field: str, value: str) -> None:
    member, _, inner = field.partition(".")
    given: Any = {member: {inner: value}} if inner else {member: value}
    if member == "dependencies":
        given = {"dependencies": {"disk": "my_disk", "other": value}}
    problems = await refused({"my_disk": DISK, "web": vm({}) | given})
    ((place, said),) = problems.items()
    assert place == f"resources.web.{field}"
    root = value.split(".")[0].split()[1]
    assert said == f"`{value}`: {root} is known only when it has settled; config and outputs alone can name it"


async def test_a_timeout_is_whole_seconds_also_as_the_result_of_a_division() -> None:
    web = {"type": "t", "timeouts": {"action": "{{ minutes * 60 / 2 }}", "state": 5}}
    found = await rendered({"web": web}, {"minutes": 1})
    assert found.manifest.resources["web"].timeouts == {"action": 30, "state": 5}
    assert list(await refused({"web": web}, {"minutes": 0.01})) == ["resources.web.timeouts.action"]


async def test_each_is_known_only_with_for_each() -> None:
    assert await refused({"web": {"type": "t", "when": "{{ each.key }}"}}) == {
        "resources.web.when": "`{{ each.key }}`: each is known only where for_each is given"
    }


async def test_a_resource_that_is_not_wanted_is_dropped_and_its_config_not_looked_at() -> None:
    resources = {
        "a": {"type": "t{{ nowhere }}", "when": "{{ release.is_install }}", "config": {"x": "{{ nowhere }}"}},
        "b": {"type": "t", "when": "{{ release.is_upgrade and size > 1 }}"},
        "c": {"type": "t", "when": False},
        "d": {"type": "t", "when": True},
    }
    found = await rendered(resources, {"size": 2})
    assert list(found.manifest.resources) == ["b", "d"]
    assert found.disabled == ("a", "c")


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("{{ 'yes' }}", "must give true or false, and not a string"),
        ("x{{ 1 }}", "must give true or false, and not a string"),
        ("{{ 1 }}", "must give true or false, and not a number"),
        ("{{ none }}", "must give true or false, and not null"),
        ("{{ nope }}", "`{{ nope }}`: there is no nope here; known are release, vars"),
    ],
)
async def test_a_condition_gives_true_or_false(when: str, said: str) -> None:
    assert await refused({"web": {"type": "t", "when": when}}) == {"resources.web.when": said}


async def test_a_dependency_that_is_not_wanted_is_an_error_that_names_both() -> None:
    ((field, said),) = (await refused({"my_disk": {**DISK, "when": "{{ false }}"}, "web": vm({})})).items()
    assert field == "resources.web.dependencies.disk"
    assert "web depends on my_disk, whose `when` gives false" in said


async def test_a_dependency_that_leads_nowhere_is_told_with_the_nearest_resource() -> None:
    ((field, said),) = (await refused({"my_disk": DISK, "web": vm({}, {"x": "{{ 'my_' ~ 'dsk' }}"})})).items()
    assert field == "resources.web.dependencies.x"
    assert "did you mean my_disk?" in said


async def test_for_each_makes_a_resource_for_each_key() -> None:
    disk = {
        "type": "t{{ each.value.v }}",
        "for_each": {"a": {"v": 1}, "b": {"v": "{{ two }}"}, "c": {"v": 3}},
        "when": "{{ each.key != 'c' }}",
        "config": {"name": "disk-{{ each.key }}", "value": "{{ each.value }}"},
    }
    found = await rendered({"disk": disk}, {"two": 2})
    assert found.manifest.as_json()["resources"] == {
        "disk[a]": {"type": "t1", "config": {"name": "disk-a", "value": {"v": 1}}},
        "disk[b]": {"type": "t2", "config": {"name": "disk-b", "value": {"v": 2}}},
    }
    assert found.disabled == ("disk[c]",)


async def test_for_each_takes_the_texts_of_a_list_as_keys_and_never_evaluates_what_came_out() -> None:
    disk = {"type": "t", "for_each": "{{ zones }}", "config": {"zone": "{{ each.value }}", "key": "{{ each.key }}"}}
    found = await configs({"disk": disk}, {"zones": ["eu", "us"]})
    assert found == {"disk[eu]": {"zone": "eu", "key": "eu"}, "disk[us]": {"zone": "us", "key": "us"}}
    many = {"type": "t", "for_each": "{{ zones }}", "config": {"x": "{{ each.value }}"}}
    assert await configs({"many": many}, {"zones": {"a": "{{ release }}"}}) == {"many[a]": {"x": "{{ release }}"}}


@pytest.mark.parametrize("for_each", ["{{ 5 }}", "x{{ 5 }}", "{{ none }}", "{{ nope }}", {"a b": 1}, ["{{ 'a b' }}"]])
async def test_a_for_each_that_gives_no_keys_is_told_once(for_each: Any) -> None:
    ((field, _),) = (await refused({"web": {"type": "t", "for_each": for_each}})).items()
    assert field.startswith("resources.web.for_each")


async def test_a_dependency_means_one_or_all_that_for_each_made() -> None:
    resources = {
        "web": {
            "type": "t",
            "dependencies": {"all": "disk", "one": "disk[b]", "zero": "nothing"},
            "config": {"a": "{{ all }}", "b": "{{ one.state }}", "c": "{{ zero }}"},
        },
        "disk": {"type": "t", "for_each": {"a": 1, "b": 2, "c": 3}, "when": "{{ each.value < 3 }}"},
        "nothing": {"type": "t", "for_each": []},
    }
    web = (await rendered(resources)).manifest.resources["web"]
    targets: dict[str, Target] = {"all": ("disk[a]", "disk[b]"), "one": "disk[b]", "zero": ()}
    assert web.dependencies == targets
    assert web.late == Late(pointers=("/a", "/b", "/c"), names=targets)


async def test_what_waits_keeps_each_if_it_needs_that() -> None:
    web = vm({"x": "{{ disk.state[each.key] }}"}, for_each={"a": 1})
    other = vm({"x": "{{ disk.state }}", "y": "{{ each.key }}"}, for_each={"b": 2})
    resources = (await rendered({"my_disk": DISK, "web": web, "other": other})).manifest.resources
    names = {"disk": "my_disk"}
    assert resources["web[a]"].late == Late(pointers=("/x",), names=names, each={"key": "a", "value": 1})
    assert resources["other[b]"].late == Late(pointers=("/x",), names=names)


async def test_each_resource_may_depend_on_its_own_of_another() -> None:
    web = {"type": "t", "for_each": ["x", "y"], "dependencies": {"disk": "disk[{{ each.key }}]"}}
    found = await rendered({"disk": {"type": "t", "for_each": ["x", "y"]}, "web": web})
    assert found.manifest.resources["web[y]"].dependencies == {"disk": "disk[y]"}


async def test_the_limit_of_resources_holds_while_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "MAX_RESOURCES", 3)
    web = {"type": "t", "for_each": "{{ range(4) }}"}
    assert await refused({"web": web}) == {"resources": "has more than 3 resources"}


async def test_outputs_know_every_resource_that_is_wanted() -> None:
    outputs = {"url": "http://{{ web.state.host }}", "all": ["{{ many }}"], "size": "{{ size + 1 }}", "fixed": 1}
    resources = {"web": {"type": "t"}, "many": {"type": "t", "for_each": ["x"]}}
    manifest = (await rendered(resources, {"size": 1}, outputs=outputs)).manifest
    assert manifest.outputs == {**outputs, "size": 2}
    assert manifest.late_outputs == Late(pointers=("/url", "/all/0"), names={"many": ("many[x]",), "web": "web"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ wbe.state }}", "there is no wbe here; did you mean web?"),
        ("{{ off.state }}", "off is a resource whose `when` gives false"),
        ("{{ each.key }}", "there is no each here"),
    ],
)
async def test_an_output_that_names_nothing_is_told(text: str, said: str) -> None:
    resources = {"web": {"type": "t"}, "off": {"type": "t", "when": False}}
    ((field, found),) = (await refused(resources, outputs={"x": {"y": text}})).items()
    assert field == "outputs.x.y"
    assert said in found


async def test_a_plug_that_is_wrong_is_told() -> None:
    assert await refused({}, plugs={"p": {"path": "{{ nope }}"}}) == {
        "plugs.p.path": "`{{ nope }}`: there is no nope here; known are release, vars"
    }


async def test_a_value_and_what_it_stands_in_are_nested_at_most_64_levels_deep() -> None:
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    assert (await configs({"web": {"type": "t", "config": {"x": "{{ deep }}"}}}, {"deep": deep}))["web"] == {"x": deep}
    problems = await refused({"web": {"type": "t", "config": {"x": ["{{ deep }}"]}}}, {"deep": deep})
    assert "nested deeper than 64 levels" in problems["resources.web.config.x[0]"]


async def test_the_example_of_deployster_is_rendered() -> None:
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
    manifest = (await rendered(resources)).manifest
    assert manifest.as_json()["resources"] == resources
    assert manifest.resources["www_vm"].late == Late(pointers=("/zone",), names={"www_data_disk": "my_data_disk"})
