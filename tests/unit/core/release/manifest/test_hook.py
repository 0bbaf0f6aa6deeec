"""Hooks of manifests: what may be written, what is refused, and in which order they run."""

from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly, hook, reader
from tinkwell.core.release.manifest.assembly import Evaluated, Instance
from tinkwell.core.release.manifest.hook import Hook, HookEvent
from tinkwell.core.release.manifest.model import Manifest, ManifestResource
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.manifest.scope import Roots
from tinkwell.core.value import document

MIGRATE = Hook(events=(HookEvent.PRE_INSTALL, HookEvent.TEST), weight=-1.5)
WRITTEN = Manifest(
    resources={
        "db": ManifestResource(type="acme/db"),
        "migrate": ManifestResource(type="acme/migrate", hook=MIGRATE),
        "seed": ManifestResource(type="acme/seed", hook=MIGRATE, for_each=["a"]),
        "web": ManifestResource(type="acme/web"),
    }
)


def written(text: str) -> Manifest:
    return reader.read([("a.yaml", f"resources: {{migrate: {{type: acme/migrate, {text}}}}}\n")])


def refused(text: str) -> dict[str, str]:
    with pytest.raises(errors.InvalidField) as caught:
        written(text)
    return {each.field.rpartition("migrate.")[2]: each.description for each in caught.value.violations}


def assemble(*instances: Instance) -> RenderedManifest:
    found = assembly.assemble(WRITTEN, Evaluated(instances=instances, names=("values", "inputs", "subcharts"))).manifest
    assert RenderedManifest.from_json(found.as_json(), found.late_as_json()) == found
    return found


def complaints(*instances: Instance) -> list[str]:
    with pytest.raises(errors.InvalidField) as caught:
        assemble(*instances)
    return [f"{each.field}: {each.description}" for each in caught.value.violations]


def instance(name: str, **more: Any) -> Instance:
    return Instance(name=name, type=f"acme/{name}", **more)


@pytest.mark.parametrize(("text", "weight"), [("", 0.0), (", weight: 3", 3.0), (", weight: -0.25", -0.25)])
def test_a_hook_has_events_and_a_weight(text: str, weight: float) -> None:
    found = written(f"hook: {{events: [pre-install, test]{text}}}")
    assert found.resources["migrate"].hook == Hook(events=(HookEvent.PRE_INSTALL, HookEvent.TEST), weight=weight)
    stored = document.parse_json("manifest", document.dump_json(found.as_json()), max_bytes=1_000)
    assert Manifest.from_json(stored) == found


@pytest.mark.parametrize(
    ("text", "field", "sentence"),
    [
        ("hook: {}", "hook.events", "must name at least one of pre-install, post-install"),
        ("hook: {events: []}", "hook.events", "must name at least one of"),
        (
            "hook: {events: [pre-instal]}",
            "hook.events[0]",
            '"pre-instal" is no event of hooks; did you mean pre-install?',
        ),
        ("hook: {events: [install]}", "hook.events[0]", '"install" is no event of hooks'),
        ("hook: {events: [1]}", "hook.events[0]", "this is no event of hooks; known are"),
        ("hook: {events: [test, test]}", "hook.events[1]", '"test" occurs twice'),
        ("hook: {events: [test], weight: x}", "hook.weight", "must be a number from -1,000,000 to 1,000,000"),
        ("hook: {events: [test], weight: true}", "hook.weight", "and not true"),
        ("hook: {events: [test], weight: 1000000.5}", "hook.weight", "must be a number from"),
        ("hook: {events: [test], when: x}", "hook.when", "there is no such field"),
        ("hook: [test]", "hook", "must be an object with events, weight"),
        ("keep: true, hook: {events: [test]}", "keep", "is for resources that stay, and a hook does not"),
        ("ignore: [/a], hook: {events: [test]}", "ignore", "is for resources that stay, and a hook does not"),
    ],
)
def test_what_is_no_hook_is_refused(text: str, field: str, sentence: str) -> None:
    assert sentence in refused(text)[field]


def test_hooks_are_no_part_of_what_is_installed() -> None:
    found = assemble(
        instance("db"), instance("migrate", config={"n": 1}), instance("seed", key="a", value="a"), instance("web")
    )
    assert list(found.installed) == ["db", "web"]
    assert found.hooks == {"migrate": MIGRATE, "seed[a]": MIGRATE}


def test_a_hook_whose_condition_is_false_is_not_there() -> None:
    assert not assemble(instance("db"), instance("migrate", when=False)).hooks


_ON_ONE = "which is a hook, and no part of the release; leave out the dependency, or `hook` of"


@pytest.mark.parametrize(
    ("found", "field", "sentence"),
    [
        (instance("web", dependencies={"m": "migrate"}), "web", f"web depends on migrate, {_ON_ONE} migrate"),
        (instance("web", dependencies={"m": "seed[a]"}), "web", f"web depends on seed[a], {_ON_ONE} seed[a]"),
        (
            instance("migrate", dependencies={"m": "db"}),
            "migrate",
            "migrate is a hook, which depends on nothing, so it cannot depend on db; leave it out",
        ),
    ],
)
def test_a_dependency_of_a_hook_or_on_one_is_refused(found: Instance, field: str, sentence: str) -> None:
    others = [
        each for each in (instance("db"), instance("migrate"), instance("seed", key="a")) if each.name != found.name
    ]
    assert complaints(*others, found) == [f"resources.{field}.dependencies.m: {sentence}"]


@pytest.mark.parametrize("root", ["db", "inputs", "subcharts"])
def test_a_hook_names_nothing_that_is_known_late(root: str) -> None:
    late = {"/url": Roots((root, "values"))}
    found = instance("migrate", config={"url": "{{ … }}"}, late=late)
    [sentence] = complaints(instance("db"), found)
    assert sentence.startswith("resources.migrate.config.url: migrate is a hook, whose config is evaluated before")
    assert sentence.endswith(f"so it cannot name {root}; give it a value")


def test_nothing_names_a_hook() -> None:
    late = {"/url": Roots(("migrate",))}
    [sentence] = complaints(instance("migrate"), instance("web", config={"url": "{{ … }}"}, late=late))
    assert sentence == "resources.web.config.url: migrate is a hook, and no part of the release"


def test_a_stored_manifest_in_which_something_depends_on_a_hook_is_refused() -> None:
    resources = {
        "m": RenderedResource(type="x", hook=MIGRATE),
        "web": RenderedResource(type="x", dependencies={"m": "m"}),
    }
    with pytest.raises(errors.InvalidField, match="web depends on m, which is a hook"):
        RenderedManifest.from_json(RenderedManifest(resources=resources).as_json(), {})


def test_hooks_of_an_event_come_by_weight_and_then_by_name() -> None:
    def at(weight: float, *events: HookEvent) -> Hook:
        return Hook(events=events or (HookEvent.TEST,), weight=weight)

    hooks = [("c", at(0)), ("b", at(2.5)), ("a", at(2.5)), ("z", at(-1)), ("y", at(0, HookEvent.PRE_DELETE))]
    assert hook.in_order(hooks, "test") == ["z", "c", "a", "b"]
