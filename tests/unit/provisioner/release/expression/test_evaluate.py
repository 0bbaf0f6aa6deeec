"""Expressions as the provisioner asks for them, in a real child process."""

import asyncio
import decimal
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.provisioner.release.expression.evaluate import Expressions, Release
from tinkwell.sandbox import errors as sandbox
from tinkwell.sandbox.limit import Limits

RELEASE: Release = {
    "name": "shop",
    "namespace": "default",
    "revision": 1,
    "is_install": True,
    "is_upgrade": False,
}
MANIFEST: Any = {
    "plugs": {"data": {"path": "{{ name }}"}},
    "resources": {
        "disk": {"type": "acme/disk", "config": {"size": "{{ size * 2 }}"}},
        "vm": {
            "type": "acme/vm",
            "dependencies": {"d": "disk"},
            "config": {"zone": "{{ d.state.zone }}", "tag": "{{ each.key }}-{{ d.name }}", "name": "{{ name }}"},
            "for_each": {"a": 1, "b": 2},
        },
        "off": {"type": "acme/off", "when": "{{ release.is_upgrade }}"},
    },
    "outputs": {"zone": "{{ disk.state.zone }}"},
}
VARIABLES: Any = {"name": "front", "size": 5}
DISK: Any = {"name": "disk", "type": "acme/disk", "state": {"zone": "eu"}}


@pytest.fixture
async def expressions() -> AsyncIterator[Expressions]:
    async with Expressions() as made:
        yield made


async def resolve(expressions: Expressions, config: Any, late: Any, names: Any) -> Any:
    return await expressions.resolve(
        config, late, names, variables=VARIABLES, release=RELEASE, field="resources.vm[a].config"
    )


async def test_a_manifest_is_rendered_and_what_waits_is_resolved_later(expressions: Expressions) -> None:
    rendered = await expressions.render(MANIFEST, VARIABLES, RELEASE)
    assert rendered.manifest["plugs"] == {"data": {"path": "front"}}
    assert rendered.disabled == ("off",)
    assert rendered.warnings == ()
    resources: Any = rendered.manifest["resources"]
    assert resources["disk"]["config"] == {"size": 10}
    late: Any = rendered.late
    config = await resolve(expressions, resources["vm[a]"]["config"], late["resources"]["vm[a]"], {"d": DISK})
    assert config == {"zone": "eu", "tag": "a-disk", "name": "front"}
    assert rendered.manifest["outputs"] == {"zone": "{{ disk.state.zone }}"}
    outputs = await resolve(expressions, rendered.manifest["outputs"], late["outputs"], {"disk": DISK})
    assert outputs == {"zone": "eu"}


async def test_what_has_nothing_that_waits_asks_nobody(expressions: Expressions) -> None:
    config: Any = {"x": "{{ untouched }}"}
    assert await resolve(expressions, config, {"pointers": [], "names": {}}, {}) is config
    assert expressions._child.pid is None


async def test_files_of_variables_are_evaluated_one_after_the_other(expressions: Expressions) -> None:
    files: Any = [("a.yaml", {"x": "{{ name }}"}), ("b.yaml", {"y": "{{ x }}!"})]
    assert await expressions.variables(files, VARIABLES) == {"name": "front", "size": 5, "x": "front", "y": "front!"}


async def test_numbers_go_through_as_doubles(expressions: Expressions) -> None:
    given: Any = {"a": decimal.Decimal("1.10"), "b": 10**40, "c": decimal.Decimal("1e300")}
    found = await expressions.variables([("v.yaml", {"d": "{{ a * 2 }}"})], given)
    assert found == {
        "a": decimal.Decimal("1.1"),
        "b": 10**40,
        "c": decimal.Decimal("1e300"),
        "d": decimal.Decimal("2.2"),
    }


async def test_what_is_wrong_is_told_by_field(expressions: Expressions) -> None:
    manifest: Any = {"resources": {"web": {"type": "{{ nme }}", "config": {"a b": ["{{ size + 'x' }}"]}}}}
    with pytest.raises(errors.InvalidField) as raised:
        await expressions.render(manifest, VARIABLES, RELEASE)
    assert [(violation.field, violation.description) for violation in raised.value.violations] == [
        ("resources.web.type", "`{{ nme }}`: nme is not known here; did you mean name?"),
        (
            'resources.web.config["a b"][0]',
            "`{{ size + 'x' }}`: + does not take a number and a string; ~ joins texts",
        ),
    ]


async def test_a_state_that_leads_to_a_process_without_memory_is_told_by_field(expressions: Expressions) -> None:
    late: Any = {"pointers": ["/x"], "names": {"d": "disk"}}
    with pytest.raises(errors.InvalidField) as raised:
        await resolve(expressions, {"x": "{{ 'x'.ljust(d.state) }}"}, late, {"d": {"state": 10**9}})
    (violation,) = raised.value.violations
    assert violation.field == "resources.vm[a].config.x"
    assert violation.description == "`{{ 'x'.ljust(d.state) }}`: needs more than 256 MiB of memory"


async def test_a_manifest_that_is_too_large_is_told(expressions: Expressions) -> None:
    manifest: Any = {"resources": {"web": {"type": "t", "config": {"x": "x" * 9 * 1024 * 1024}}}}
    with pytest.raises(errors.InvalidField, match=r"^manifest: has 9,437,\d+ bytes; at most 8,388,608 are allowed"):
        await expressions.render(manifest, {}, RELEASE)


async def test_a_manifest_that_becomes_too_large_is_told(expressions: Expressions) -> None:
    config = {"x": "{{ ('x' * 900000) }}"}
    manifest: Any = {"resources": {"web": {"type": "t", "for_each": "{{ range(20) }}", "config": config}}}
    with pytest.raises(errors.InvalidField, match="gives more than 16 MiB in all"):
        await expressions.render(manifest, {}, RELEASE)


async def test_thousands_of_expressions_have_a_second_each_and_not_all_together(expressions: Expressions) -> None:
    config = {"x": "{{ release.name }}-{{ each.key }}"}
    manifest: Any = {
        "resources": {f"web{n}": {"type": "t", "for_each": "{{ range(50) }}", "config": config} for n in range(100)}
    }
    rendered = await expressions.render(manifest, {}, RELEASE)
    resources: Any = rendered.manifest["resources"]
    assert len(resources) == 5000
    assert resources["web99[49]"]["config"] == {"x": "shop-49"}


async def test_a_child_that_was_killed_is_told_and_the_next_call_works(expressions: Expressions) -> None:
    manifest: Any = {
        "resources": {"web": {"type": "t", "config": {"x": "{% for a in range(9999) %}" * 9 + "{% endfor %}" * 9}}}
    }
    await expressions.render(MANIFEST, VARIABLES, RELEASE)
    pid = expressions._child.pid
    assert pid
    call = asyncio.create_task(expressions.render(manifest, VARIABLES, RELEASE))
    async with asyncio.timeout(10):
        while "web" not in expressions._child._piece:
            await asyncio.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(
        errors.InvalidField, match=r"resources\.web\.config\.x: .*: the child process ended of signal 9"
    ):
        await call
    assert await expressions.render(MANIFEST, VARIABLES, RELEASE)


async def test_two_operations_have_a_child_each(expressions: Expressions) -> None:
    async with Expressions() as other:
        one, two = await asyncio.gather(
            expressions.render(MANIFEST, VARIABLES, RELEASE), other.render(MANIFEST, VARIABLES, RELEASE)
        )
        assert one == two
        assert expressions._child.pid != other._child.pid


async def test_after_the_end_nothing_is_evaluated() -> None:
    async with Expressions(limits=Limits()) as expressions:
        assert await expressions.variables([], {}) == {}
    with pytest.raises(sandbox.NotStarted, match="closed"):
        await expressions.variables([], {})


def test_the_provisioner_does_not_load_jinja_and_the_child_loads_little_else() -> None:
    def loaded(module: str) -> set[str]:
        code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
        return set(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))

    assert "jinja2" not in loaded("tinkwell.provisioner.release.expression.evaluate")
    child = loaded("tinkwell.provisioner.release.expression.child")
    assert "jinja2" in child
    assert not {"asyncio", "grpc", "google.protobuf", "logging", "jsonschema_rs", "networkx", "ruamel"} & child
