"""Putting a rendered manifest together: what dependencies and names in late texts mean, and what is refused."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release.manifest import assembly, name, rendered
from tinkwell.core.release.manifest.assembly import Evaluated, Instance
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Manifest, ManifestResource, Plug
from tinkwell.core.release.manifest.rendered import RenderedManifest, RenderedResource
from tinkwell.core.release.manifest.scope import Roots
from tinkwell.core.value import document

DISK = Instance(name="my_data_disk", type="acme/disk", config={"name": "www_data_disk"})


def manifest(*names: str, **more: Any) -> Manifest:
    resources = {each: ManifestResource(type="acme/x") for each in names}
    return Manifest(resources={**resources, **more})


def assemble(
    written: Manifest, *instances: Instance, names: Sequence[str] = ("region",), **more: Any
) -> assembly.Assembled:
    return assembly.assemble(written, Evaluated(instances=instances, names=names, **more))


def refused(written: Manifest, *instances: Instance, **more: Any) -> list[str]:
    with pytest.raises(errors.InvalidField) as caught:
        assemble(written, *instances, **more)
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def machine(*roots: str, optional: Sequence[str] = (), **more: Any) -> Instance:
    return Instance(
        name="www_vm",
        type="acme/vm",
        dependencies={"disk": "my_data_disk"},
        config={"zone": "{{ … }}"},
        late={"/zone": Roots(roots, optional)},
        **more,
    )


SEED = manifest("my_data_disk", "www_vm", "other")


@pytest.mark.parametrize("root", ["disk", "my_data_disk", "www_data_disk"])
def test_a_late_name_means_a_dependency_by_alias_resource_or_name_in_its_config(root: str) -> None:
    found = assemble(SEED, DISK, machine(root))
    assert found.manifest.resources["www_vm"].late == Late(pointers=("/zone",), names={root: "my_data_disk"})
    warned = ("resources.www_vm.config.zone: www_data_disk is only the name in a config; write its alias, disk",)
    assert found.warnings == (warned if root == "www_data_disk" else ())


@pytest.mark.parametrize(
    ("root", "sentence"),
    [
        ("dsk", "there is no dsk here; did you mean disk?"),
        ("regin", "there is no regin here; did you mean region?"),
        ("other", "other is a resource, but no dependency of this one; add it to `dependencies`"),
        ("www_vm", "www_vm is a resource, but no dependency of this one"),
        ("each", "there is no each here"),
    ],
)
def test_a_late_name_that_means_nothing_is_refused_with_what_to_do(root: str, sentence: str) -> None:
    [told] = refused(SEED, DISK, machine("disk", root))
    assert told.startswith(f"resources.www_vm.config.zone: {sentence}")


def test_a_text_may_do_without_a_name_that_means_nothing() -> None:
    found = assemble(SEED, DISK, machine("disk", "nothing", optional=["disk", "nothing"]))
    assert found.manifest.resources["www_vm"].late.names == {"disk": "my_data_disk"}


def test_aliases_win_over_variables_and_variables_over_names_of_resources() -> None:
    names = ("disk", "my_data_disk")
    found = assemble(SEED, DISK, machine("disk", "my_data_disk"), names=names)
    assert found.manifest.resources["www_vm"].late.names == {"disk": "my_data_disk"}


def test_a_name_that_may_mean_two_things_is_refused() -> None:
    twin = Instance(name="other", type="acme/disk", config={"name": "www_data_disk"})
    vm = Instance(
        name="www_vm",
        type="acme/vm",
        dependencies={"disk": "my_data_disk", "more": "other"},
        config={"a": "x"},
        late={"/a": Roots({"www_data_disk"})},
    )
    [told] = refused(SEED, DISK, twin, vm)
    assert told.endswith("www_data_disk is the name in the configs of disk and more; write one of these")
    many = manifest(d=ManifestResource(type="x", for_each=[]), w=ManifestResource(type="x"))
    parts = [Instance(name="d", key=key, value=key, type="x") for key in "ab"]
    user = Instance(
        name="w", type="x", dependencies={"p": "d[a]", "q": "d[b]"}, config={"a": "x"}, late={"/a": Roots({"d"})}
    )
    [told] = refused(many, *parts, user)
    assert told.endswith("d is the resource of several dependencies; write the alias of one of them")


def test_the_name_in_a_config_that_is_late_itself_is_no_name() -> None:
    disk = Instance(name="my_data_disk", type="x", config={"name": "www"}, late={"/name": Roots({"region"})})
    [told] = refused(SEED, disk, machine("www"))
    assert "there is no www here" in told


def test_for_each_makes_resources_and_its_name_means_all_of_them() -> None:
    written = manifest(
        d=ManifestResource(type="x", for_each={}),
        none=ManifestResource(type="x", for_each=[]),
        w=ManifestResource(type="x"),
    )
    found = assemble(
        written,
        Instance(name="d", key="b", value={"size": 1.5}, type="x:1", config={"v": "t"}, late={"/v": Roots({"each"})}),
        Instance(name="d", key="a", value=1, type="x:1"),
        Instance(name="w", type="x", dependencies={"all": "d", "one": "d[b]", "none": "none"}),
        outputs={"all": ["t"]},
        late_outputs={"/all/0": Roots({"d"})},
    ).manifest
    assert list(found.resources) == ["d[b]", "d[a]", "w"]
    assert found.resources["w"].dependencies == {"all": ("d[a]", "d[b]"), "one": "d[b]", "none": ()}
    assert found.resources["w"].prerequisites == ("d[a]", "d[b]")
    size = document.parse_json("", "1.5")
    assert found.resources["d[b]"].late == Late(pointers=("/v",), each={"key": "b", "value": {"size": size}})
    assert found.late_outputs == Late(pointers=("/all/0",), names={"d": ("d[a]", "d[b]")})


def test_a_resource_whose_when_is_false_is_left_out() -> None:
    written = manifest("a", "b", d=ManifestResource(type="x", for_each=[]))
    found = assemble(
        written,
        Instance(name="a", type="not an image", when=False),
        Instance(name="b", type="x", dependencies={"all": "d"}),
        Instance(name="d", key="x", value="x", type="x", when=False),
        Instance(name="d", key="y", value="y", type="x"),
    ).manifest
    assert list(found.resources) == ["b", "d[y]"]
    assert found.resources["b"].dependencies == {"all": ("d[y]",)}


@pytest.mark.parametrize(
    ("instances", "sentence"),
    [
        (
            [Instance(name="a", type="x", when=False), Instance(name="b", type="x", dependencies={"it": "a"})],
            "resources.b.dependencies.it: b depends on a, whose `when` gives false; leave out both of them",
        ),
        (
            [Instance(name="b", type="x", dependencies={"d1": "r3"}), Instance(name="a", type="x")],
            "resources.b.dependencies.d1: b depends on r3, but there is no such resource; known are a, b",
        ),
        (
            [Instance(name="b", type="x", dependencies={"d1": "bb"})],
            "resources.b.dependencies.d1: b depends on bb, but there is no such resource; did you mean b?",
        ),
        (
            [Instance(name="b", type="x", dependencies={"d1": "a[x]"}), Instance(name="a", type="x")],
            "resources.b.dependencies.d1: b depends on a[x], but there is no such resource; known are a, b",
        ),
        (
            [Instance(name="a", type="x", dependencies={"d1": 5})],
            "resources.a.dependencies.d1: must give text, and not a number",
        ),
        ([Instance(name="a", type="x", when="yes")], "resources.a.when: must give true or false, and not a string"),
        ([Instance(name="a", type=None)], "resources.a.type: must give text, and not null"),
        ([Instance(name="a", type="A b")], 'resources.a.type: "A b" is not an image'),
        ([Instance(name="a", key="k", type="A b")], 'resources["a[k]"].type: "A b" is not an image'),
        ([Instance(name="a", type="x", config=[1])], "resources.a.config: must be an object, and not a list"),
        ([Instance(name="a", type="x", config={"b": ["\0"]})], "resources.a.config.b[0]: the text"),
        (
            [Instance(name="a", type="x", config={"b": "x" * rendered.MAX_CONFIG_BYTES})],
            "resources.a.config: has 2,097,160 bytes; at most 2,097,152 are allowed",
        ),
        (
            [Instance(name="a", type="x", timeouts={"state": "5"})],
            "resources.a.timeouts.state: must give whole seconds",
        ),
        (
            [Instance(name="a", type="x", timeouts={"state": 1.5})],
            "resources.a.timeouts.state: must give whole seconds",
        ),
        ([Instance(name="a", type="x", timeouts={"state": 0})], "resources.a.timeouts.state: is 0; it must be from 1"),
        ([Instance(name="a", type="x", concurrency_key=5)], "resources.a.concurrency_key: must give text"),
    ],
)
def test_what_evaluation_gives_is_checked(instances: list[Instance], sentence: str) -> None:
    assert any(told.startswith(sentence) for told in refused(manifest("a", "b"), *instances))


def test_what_is_late_may_not_be_more_than_can_be_stored() -> None:
    key, leaves = "k" * 1_000, [str(number) for number in range(9_000)]
    late = {f"/{key}/{leaf}": Roots({"region"}) for leaf in leaves}
    config: document.JsonObject = {key: dict.fromkeys(leaves, "{{ region }}")}
    [told] = refused(manifest("a"), Instance(name="a", type="x", config=config, late=late))
    assert told.startswith("resources: has 9,")
    assert told.endswith("at most 8,388,608 are allowed")


def test_plugs_and_outputs_are_checked_once_more() -> None:
    told = refused(manifest(), plugs={"p": {"path": "", "resource_names": ["a" * 257]}}, outputs=[1])
    assert [sentence.split(": ")[0] for sentence in told] == ["outputs", "plugs.p.path", "plugs.p.resource_names[0]"]
    found = assemble(manifest("a"), plugs={"p": {"path": "/x", "read_only": True}}, outputs={"o": 1}).manifest
    assert found.plugs == {"p": Plug(path="/x", read_only=True)}
    assert found.outputs == {"o": 1}


def test_an_output_that_names_what_is_not_there_is_refused() -> None:
    off = Instance(name="a", type="x", when=False)
    late = {"/o": Roots({"a"}), "/p": Roots({"bb"})}
    told = refused(manifest("a", "b"), off, outputs={"o": "x", "p": "y"}, late_outputs=late)
    assert told == [
        "outputs.o: a is a resource whose `when` gives false",
        "outputs.p: there is no bb here; did you mean b?",
    ]


def test_what_the_manifest_says_goes_over_as_it_is() -> None:
    written = ManifestResource(
        type="{{ x }}",
        readonly=True,
        keep=True,
        retries=2,
        ignore=("/a",),
        sensitive=("/b",),
        concurrency_key="{{ k }}",
    )
    instance = Instance(name="a", type="x:1", timeouts={"ready": 60.0}, concurrency_key="k1")
    assert assemble(manifest(a=written), instance).manifest.resources["a"] == RenderedResource(
        type="x:1",
        readonly=True,
        keep=True,
        retries=2,
        ignore=("/a",),
        sensitive=("/b",),
        concurrency_key="k1",
        timeouts={"ready": 60},
    )


def test_there_may_be_so_many_resources_and_dependencies_and_no_more() -> None:
    each = manifest(a=ManifestResource(type="x", for_each=[]))
    many = [Instance(name="a", key=str(n), value=n, type="x") for n in range(rendered.MAX_RESOURCES + 1)]
    assert refused(each, *many) == ["resources: has 5,001 resources; at most 5,000 are allowed"]
    users = [Instance(name="a", key=str(n), value=n, type="x", dependencies={"all": "a"}) for n in range(142)]
    assert refused(each, *users) == ["resources: has 20,164 dependencies; at most 20,000 are allowed"]


def test_thousands_of_mistakes_are_not_all_looked_into() -> None:
    each = manifest(a=ManifestResource(type="x", for_each=[]))
    wrong = {f"d{n}": f"nothing{n}" for n in range(40)}
    many = [Instance(name="a", key=str(n), value=n, type="x", dependencies=wrong) for n in range(5_000)]
    assert len(refused(each, *many)) == document.MAX_VIOLATIONS


@pytest.mark.parametrize(
    ("for_each", "pairs"),
    [
        (["a", "b", 3], [("a", "a"), ("b", "b"), ("3", 3)]),
        ({"x": {"size": 1}, "y": None}, [("x", {"size": 1}), ("y", None)]),
        ([], []),
        ({}, []),
    ],
)
def test_for_each_gives_keys_and_values(for_each: Any, pairs: list[tuple[str, Any]]) -> None:
    assert assembly.expand("resources.a.for_each", for_each) == pairs


@pytest.mark.parametrize(
    ("for_each", "sentence"),
    [
        ("text", "x: must give a list of texts or an object, and not a string"),
        (None, "x: must give a list of texts or an object, and not null"),
        ([[1]], "x[0]: must be text, which is its key, and not a list"),
        ([True], "x[0]: must be text, which is its key, and not true"),
        (["a", "a"], 'x[1]: the key "a" occurs twice'),
        ([1, "1"], 'x[1]: the key "1" occurs twice'),
        (["a b"], 'x[0]: "a b" is not a key'),
        (["-a"], 'x[0]: "-a" is not a key'),
        ({"a]": 1}, 'x["a]"]: "a]" is not a key'),
        ({"a" * 65: 1}, "is not a key; use letters, digits, _, . and -, the first none of the last two, at most 64"),
        (list(range(5_001)), "x: has 5,001 entries; at most 5,000 are allowed"),
    ],
)
def test_a_for_each_that_is_wrong_is_refused(for_each: Any, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        assembly.expand("x", for_each)
    assert sentence in str(caught.value)


NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@st.composite
def manifests(draw: st.DrawFn) -> RenderedManifest:
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    paths = [name.join_path(each, draw(st.none() | st.from_regex(r"\w[\w.-]{0,3}", fullmatch=True))) for each in names]
    paths = [path for path in paths if path.isascii()]
    targets = (
        st.sampled_from(paths) | st.lists(st.sampled_from(paths), max_size=3).map(tuple) if paths else st.nothing()
    )
    aliases = NAMES.filter(lambda text: text not in name.RESERVED)
    resources = {}
    for path in paths:
        config: dict[str, Any] = draw(
            st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=3)
        )
        texts = [name.pointer_child("", key) for key, value in config.items() if isinstance(value, str)]
        resources[path] = RenderedResource(
            type="acme/x:1",
            dependencies=draw(st.dictionaries(aliases, targets, max_size=3)),
            config=config,
            late=Late(
                pointers=tuple(texts),
                names=draw(st.dictionaries(st.sampled_from(["a", "b_1"]), targets, max_size=2)),
                each={"key": "k", "value": 1} if draw(st.booleans()) else None,
            ),
            readonly=draw(st.booleans()),
            timeouts=draw(st.dictionaries(st.sampled_from(["state", "ready"]), st.integers(1, 99), max_size=2)),
            retries=draw(st.none() | st.integers(0, 100)),
            sensitive=draw(st.sampled_from([(), ("/a",), ("", "/b/0")])),
        )
    return RenderedManifest(plugs={"p": Plug(path="/x", resource_names=("a",))}, resources=resources)


@given(manifests())
def test_the_json_form_gives_the_same_manifest_back(given_manifest: RenderedManifest) -> None:
    stored = [document.dump_json(form) for form in (given_manifest.as_json(), given_manifest.late_as_json())]
    manifest_json, late_json = (document.parse_json("stored", text) for text in stored)
    assert RenderedManifest.from_json(manifest_json, late_json) == given_manifest


@pytest.mark.parametrize(
    ("value", "late", "sentence"),
    [
        ({"resources": {"a": {"type": "x", "when": True}}}, {}, "resources.a.when: there is no such field"),
        ({"resources": {"a[": {"type": "x"}}}, {}, '"a[" is not the path of a resource'),
        ({"resources": {"a": {"type": "x", "dependencies": {"d": "b"}}}}, {}, "there is no resource b"),
        ({"resources": {"a": {"type": "x", "dependencies": {"d": ["b"]}}}}, {}, "there is no resource b"),
        (
            {"resources": {"a": {"type": "x", "dependencies": {"d": [1]}}}},
            {},
            "must be the path of a resource, or a list",
        ),
        ({}, {"resources": {"a": {}}}, "late.resources.a: there is no such resource"),
        (
            {"resources": {"a": {"type": "x"}}},
            {"resources": {"a": {"pointers": ["/b"]}}},
            "has nothing at the JSON pointer",
        ),
        (
            {"resources": {"a": {"type": "x", "config": {"b": 1}}}},
            {"resources": {"a": {"pointers": ["/b"]}}},
            'late.resources.a.pointers: "/b" leads to no text',
        ),
        (
            {"resources": {"a": {"type": "x"}}},
            {"resources": {"a": {"names": {"a-b": "a"}}}},
            '"a-b" is not a name in an expression',
        ),
        ({"outputs": {}}, {"outputs": {"names": {"a": "a"}}}, "late.outputs.names.a: there is no resource a"),
        ([], {}, "must be an object with plugs, resources, outputs, charts, and not a list"),
    ],
)
def test_a_stored_manifest_that_is_wrong_is_refused(value: Any, late: Any, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as caught:
        RenderedManifest.from_json(value, late)
    assert sentence in str(caught.value)
