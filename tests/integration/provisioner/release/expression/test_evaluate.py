"""Expressions as the provisioner asks for them, in a real child process."""

import asyncio
import decimal
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE

from support import waiting
from tinkwell.core import errors
from tinkwell.core.release.manifest import reader
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Manifest
from tinkwell.provisioner.release.expression.evaluate import Expressions
from tinkwell.provisioner.release.expression.naming import ManifestNames
from tinkwell.sandbox import errors as sandbox

MANIFEST = Manifest.from_json(
    {
        "plugs": {"data": {"path": "{{ name }}"}},
        "resources": {
            "disk": {"type": "acme/disk", "config": {"size": "{{ size * 2 }}"}},
            "vm": {
                "type": "acme/vm",
                "dependencies": {"d": "disk"},
                "config": {"zone": "{{ d.state.zone }}", "tag": "{{ each.key }}-{{ d.name }}", "name": "{{ name }}"},
                "for_each": {"a": 1, "b": 2},
            },
            "off": {"type": "acme/off", "when": "{{ release.is_install }}"},
        },
        "outputs": {"zone": "{{ disk.state.zone }}"},
    }
)
VARIABLES: Any = {"name": "front", "size": 5}
DISK: Any = {"name": "disk", "type": "acme/disk", "state": {"zone": "eu"}}


@pytest.fixture
async def expressions() -> AsyncIterator[Expressions]:
    async with Expressions() as made:
        yield made


def one(**members: Any) -> Manifest:
    """Make a manifest of one resource."""
    return Manifest.from_json({"resources": {"web": {"type": "t", **members}}})


async def resolve(expressions: Expressions, config: Any, late: Late, names: Any) -> Any:
    return await expressions.resolve(
        config, late, names, names=ManifestNames(VARIABLES, RELEASE), field="resources.vm[a].config"
    )


async def test_a_manifest_is_rendered_and_what_waits_is_resolved_later(expressions: Expressions) -> None:
    rendered = await expressions.render(MANIFEST, ManifestNames(VARIABLES, RELEASE))
    assert rendered.disabled == ("off",)
    assert rendered.warnings == ()
    manifest = rendered.manifest
    assert manifest.plugs["data"].path == "front"
    assert manifest.resources["disk"].config == {"size": 10}
    vm = manifest.resources["vm[a]"]
    assert await resolve(expressions, vm.config, vm.late, {"d": DISK}) == {
        "zone": "eu",
        "tag": "a-disk",
        "name": "front",
    }
    assert await resolve(expressions, manifest.outputs, manifest.late_outputs, {"disk": DISK}) == {"zone": "eu"}


async def test_the_example_of_the_documentation_is_rendered(expressions: Expressions) -> None:
    page = (Path(__file__).parents[5] / "docs" / "reference" / "expression.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    manifest = reader.read([("example.yaml", example)])
    rendered = await expressions.render(manifest, ManifestNames({"gigabytes": 5, "version": "1.2"}, RELEASE))
    resources = rendered.manifest.resources
    assert list(resources) == ["disk[eu]", "disk[us]", "vm"]
    assert resources["disk[us]"].config == {"name": "disk-us", "size": 10}
    vm = resources["vm"]
    assert vm.type == "acme/vm:1.2"
    disks: Any = {"eu": DISK, "us": DISK}
    config = await resolve(expressions, vm.config, vm.late, {"disks": disks, "first": DISK})
    assert config == {"zone": "eu", "disks": 2}


async def test_what_has_nothing_that_waits_asks_nobody(expressions: Expressions) -> None:
    config: Any = {"x": "{{ untouched }}"}
    assert await resolve(expressions, config, Late(), {}) is config
    assert expressions._child.pid is None


async def test_files_of_variables_are_evaluated_one_after_the_other(expressions: Expressions) -> None:
    files: Any = [("a.yaml", {"x": "{{ name }}"}), ("b.yaml", {"y": "{{ x }}!"})]
    assert await expressions.variables(files, VARIABLES) == {"name": "front", "size": 5, "x": "front", "y": "front!"}


async def test_numbers_go_through_as_doubles(expressions: Expressions) -> None:
    given: Any = {"a": decimal.Decimal("1.10"), "b": 10**40, "c": decimal.Decimal("1e300")}
    found = await expressions.variables([("v.yaml", {"d": "{{ a * 2 }}"})], given)
    decimals = {"a": decimal.Decimal("1.1"), "c": decimal.Decimal("1e300"), "d": decimal.Decimal("2.2")}
    assert found == {**decimals, "b": 10**40}


async def test_what_is_wrong_is_told_by_field(expressions: Expressions) -> None:
    manifest = one(type="{{ nme }}", config={"a b": ["{{ size + 'x' }}"]})
    with pytest.raises(errors.InvalidField) as raised:
        await expressions.render(manifest, ManifestNames(VARIABLES, RELEASE))
    assert [(violation.field, violation.description) for violation in raised.value.violations] == [
        ("resources.web.type", "`{{ nme }}`: there is no nme here; did you mean name?"),
        (
            'resources.web.config["a b"][0]',
            "`{{ size + 'x' }}`: + does not take a number and a string; ~ joins texts",
        ),
    ]


async def test_a_state_that_makes_a_text_too_long_for_the_memory_is_told_by_field(expressions: Expressions) -> None:
    late = Late(pointers=("/x",), names={"d": "disk"})
    with pytest.raises(errors.InvalidField) as raised:
        await resolve(expressions, {"x": "{{ 'x'.ljust(d.state) }}"}, late, {"d": {"state": 10**9}})
    (violation,) = raised.value.violations
    assert violation.field == "resources.vm[a].config.x"
    assert violation.description == "`{{ 'x'.ljust(d.state) }}`: needs more than 256 MiB of memory"


async def test_a_manifest_that_is_too_large_is_told(expressions: Expressions) -> None:
    manifest = one(config={"x": "x" * 25 * 1024 * 1024})
    with pytest.raises(errors.InvalidField, match=r"^manifest: has 26,214,\d+ bytes; at most 25,165,824 are allowed"):
        await expressions.render(manifest, ManifestNames({}, RELEASE))


async def test_a_manifest_that_becomes_too_large_is_told(expressions: Expressions) -> None:
    manifest = one(for_each="{{ range(20) }}", config={"x": "{{ ('x' * 900000) }}"})
    with pytest.raises(errors.InvalidField, match="gives more than 16 MiB in all"):
        await expressions.render(manifest, ManifestNames({}, RELEASE))


async def test_thousands_of_expressions_are_rendered_by_one_call(expressions: Expressions) -> None:
    web: Any = {"type": "t", "for_each": "{{ range(50) }}", "config": {"x": "{{ release.name }}-{{ each.key }}"}}
    manifest = Manifest.from_json({"resources": {f"web{number}": web for number in range(100)}})
    resources = (await expressions.render(manifest, ManifestNames({}, RELEASE))).manifest.resources
    assert len(resources) == 5000
    assert resources["web99[49]"].config == {"x": "shop-49"}


async def test_a_child_that_was_killed_is_told_and_the_next_call_works(expressions: Expressions) -> None:
    await expressions.render(MANIFEST, ManifestNames(VARIABLES, RELEASE))
    pid = expressions._child.pid
    assert pid
    manifest = one(config={"x": "{% for a in range(9999) %}" * 9 + "{% endfor %}" * 9})
    call = asyncio.create_task(expressions.render(manifest, ManifestNames(VARIABLES, RELEASE)))
    await waiting.eventually(lambda: "web" in expressions._child._piece)
    os.kill(pid, signal.SIGKILL)
    said = r"resources\.web\.config\.x: .*: the child process ended of signal 9"
    with pytest.raises(errors.InvalidField, match=said):
        await call
    rendered = await expressions.render(MANIFEST, ManifestNames(VARIABLES, RELEASE))
    assert rendered.disabled == ("off",)


async def test_two_operations_have_a_child_each(expressions: Expressions) -> None:
    async with Expressions() as other:
        first, second = await asyncio.gather(
            expressions.render(MANIFEST, ManifestNames(VARIABLES, RELEASE)),
            other.render(MANIFEST, ManifestNames(VARIABLES, RELEASE)),
        )
        assert first == second
        assert expressions._child.pid != other._child.pid


async def test_after_the_end_nothing_is_evaluated() -> None:
    async with Expressions() as expressions:
        assert await expressions.variables([], {}) == {}
    with pytest.raises(sandbox.NotStarted, match="closed"):
        await expressions.variables([], {})


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"plugs": {}, "instances": [1], "outputs": {}, "late_outputs": {}},
        {"plugs": {}, "instances": [{"name": "nowhere", "key": None, "value": None, "when": True}], "outputs": {}},
        {"plugs": {}, "instances": [], "outputs": {}, "late_outputs": {"/x": {"names": 1}}},
        {
            "plugs": {},
            "instances": [{"name": "nowhere", "key": None, "value": None, "when": True}],
            "outputs": {},
            "late_outputs": {},
        },
    ],
)
async def test_an_answer_of_another_form_is_no_manifest(
    expressions: Expressions, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def call(_: bytes) -> bytes:
        return json.dumps(answer).encode()

    monkeypatch.setattr(expressions._child, "call", call)
    with pytest.raises(sandbox.Failed, match="no evaluated manifest"):
        await expressions.render(MANIFEST, ManifestNames(VARIABLES, RELEASE))


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=r"jinja2 is not installed; install tinkwell\[provisioner\]"):
        Expressions()


def test_the_provisioner_does_not_load_jinja_and_the_child_loads_little_else() -> None:
    def loaded(module: str) -> set[str]:
        code = f"import sys, json, {module}; print(json.dumps(sorted(sys.modules)))"
        return set(json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))

    assert "jinja2" not in loaded("tinkwell.provisioner.release.expression.evaluate")
    child = loaded("tinkwell.provisioner.release.expression.child")
    assert "jinja2" in child
    assert not {"asyncio", "grpc", "google.protobuf", "logging", "jsonschema_rs", "networkx", "ruamel"} & child
