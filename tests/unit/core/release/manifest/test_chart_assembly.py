"""How the charts of a release become one manifest."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import chart_assembly, rendered
from tinkwell.core.release.manifest.chart_assembly import Joining, Part
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.model import Plug
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.release.manifest.scope import Roots, Subcharts
from tinkwell.core.value.document import JsonObject


def chart(name: str, *batches: tuple[str, ...], **others: object) -> RenderedChart:
    return RenderedChart(name=name, version="1.0.0", batches=(*batches, (name,)), **others)  # type: ignore[arg-type]


def joined(*parts: Part) -> RenderedManifest:
    joining = Joining()
    for part in parts:
        joining.add(part)
    return joining.manifest


def test_paths_plugs_dependencies_and_late_names_begin_with_the_chart() -> None:
    inner = RenderedManifest(
        plugs={"data": Plug(path="data")},
        resources={
            "disk[a]": RenderedResource(type="d"),
            "vm": RenderedResource(
                type="v",
                dependencies={"one": "disk[a]", "all": ("disk[a]",)},
                config={"x": "{{ one.state }}"},
                late=Late(pointers=("/x",), names={"one": "disk[a]", "all": ("disk[a]",)}, each={"key": "k"}),
            ),
        },
        outputs={"o": "{{ vm.state }}", "p": 1},
        late_outputs=Late(pointers=("/o",), names={"vm": "vm"}),
    )
    root = chart("shop", ("store",), edges=(("store", "shop"),), notes="Done.\n")
    store = chart("store", inputs={"i": "{{ inputs.x }}"}, late_inputs=Late(pointers=("/i",)))
    found = joined(
        Part(path="shop", chart=root, manifest=RenderedManifest()), Part(path="shop.store", chart=store, manifest=inner)
    )
    assert [*found.plugs] == ["shop.store:data"]
    vm = found.resources["shop.store:vm"]
    assert vm.dependencies == {"one": "shop.store:disk[a]", "all": ("shop.store:disk[a]",)}
    assert vm.late.names == {"one": "shop.store:disk[a]", "all": ("shop.store:disk[a]",)}
    assert vm.late.each == {"key": "k"}
    assert found.charts["shop.store"].outputs == {"o": "{{ vm.state }}", "p": 1}
    assert found.charts["shop.store"].late_outputs.names == {"vm": "shop.store:vm"}
    assert (found.outputs, found.late_outputs) == ({}, Late())
    assert RenderedManifest.from_json(found.as_json(), found.late_as_json()) == found


def test_without_what_is_late_a_stored_manifest_is_read_as_well() -> None:
    found = joined(Part(path="a", chart=chart("a"), manifest=RenderedManifest(outputs={"o": "{{ x }}"})))
    assert RenderedManifest.from_json(found.as_json(), {}).charts["a"].late_outputs == Late()


def test_an_applied_manifest_has_no_word_of_charts() -> None:
    assert "charts" not in RenderedManifest().as_json()
    assert "charts" not in RenderedManifest().late_as_json()


@pytest.mark.parametrize(
    ("late", "field"),
    [
        ({"charts": {"b": {"inputs": {}}}}, "late.charts.b"),
        ({"charts": {"a": {"inputs": {"pointers": ["/x"]}}}}, "late.charts.a.inputs.pointers"),
        ({"charts": {"a": {"outputs": {"names": {"x": "a:gone"}}}}}, "late.charts.a.outputs.names.x"),
        ({"charts": {"a": {"input": {}}}}, "late.charts.a.input"),
    ],
)
def test_what_is_late_must_fit_the_charts(late: JsonObject, field: str) -> None:
    found = joined(Part(path="a", chart=chart("a"), manifest=RenderedManifest()))
    with pytest.raises(errors.InvalidField) as raised:
        RenderedManifest.from_json(found.as_json(), late)
    assert [violation.field for violation in raised.value.violations] == [field]


def test_there_may_be_so_many_resources_in_all_charts_and_no_more() -> None:
    half = RenderedManifest(
        resources={f"r{number}": RenderedResource(type="t") for number in range(rendered.MAX_RESOURCES // 2)}
    )
    joining = Joining()
    joining.add(Part(path="a", chart=chart("a", ("b",), ("c",)), manifest=half))
    joining.add(Part(path="a.b", chart=chart("b"), manifest=half))
    one = RenderedManifest(resources={"r": RenderedResource(type="t")})
    with pytest.raises(errors.InvalidField, match="has 5,001 resources in all charts; at most 5,000 are allowed"):
        joining.add(Part(path="a.c", chart=chart("c"), manifest=one))


def test_all_charts_together_are_no_larger_than_one_manifest() -> None:
    half = RenderedManifest(resources={"r": RenderedResource(type="t", config={"x": "x" * (4 * 1024 * 1024)})})
    joining = Joining()
    joining.add(Part(path="a", chart=chart("a", ("b",)), manifest=half))
    with pytest.raises(errors.InvalidField, match=r"has 8,388,\d+ bytes in all charts; at most 8,388,608 are allowed"):
        joining.add(Part(path="a.b", chart=chart("b"), manifest=half))


@pytest.mark.parametrize("is_sequenced", [True, False])
def test_a_root_may_have_as_many_subcharts_as_are_allowed(is_sequenced: bool) -> None:
    names = tuple(f"c{number}" for number in range(rendered.MAX_CHARTS - 1))
    batches = tuple((name,) for name in names) if is_sequenced else ()
    last = ("top",) if is_sequenced else (*names, "top")
    root = RenderedChart(name="top", version="1.0.0", batches=(*batches, last))
    parts = [Part(path=f"top.{name}", chart=chart(name), manifest=RenderedManifest()) for name in names]
    found = joined(Part(path="top", chart=root, manifest=RenderedManifest()), *parts)
    assert RenderedManifest.from_json(found.as_json(), found.late_as_json()) == found


def test_dependencies_of_all_charts_count_together_with_what_charts_wait_for() -> None:
    many = RenderedManifest(
        resources={
            "a": RenderedResource(type="t"),
            **{f"r{n}": RenderedResource(type="t", dependencies={"a": "a"}) for n in range(2_000)},
        }
    )
    edges = tuple((f"c{number}", "a") for number in range(rendered.MAX_EDGES - 2_000))
    joining = Joining()
    joining.add(Part(path="a", chart=chart("a", edges=edges), manifest=many))
    with pytest.raises(errors.InvalidField, match="has 20,001 dependencies, those between charts included, in all"):
        joining.add(Part(path="a.b", chart=chart("b", edges=(("x", "b"),)), manifest=RenderedManifest()))


def inputs(given: object, late: dict[str, Roots] | None = None) -> tuple[JsonObject, Late]:
    siblings = Subcharts(awaited=["db"], others=["web"], explain=lambda name: f"{name} comes later")
    return chart_assembly.read_inputs(
        "inputs.site",
        given,
        late or {},
        names=["values", "inputs", "subcharts"],
        resources=["door"],
        subcharts=siblings,
    )


def test_inputs_may_name_what_has_settled() -> None:
    late = {"/a": Roots(["subcharts", "inputs"], subcharts=["db"])}
    assert inputs({"a": "{{ x }}", "b": 1}, late) == ({"a": "{{ x }}", "b": 1}, Late(pointers=("/a",)))


@pytest.mark.parametrize(
    ("roots", "sentence"),
    [
        (Roots(["subcharts"], subcharts=["web"]), "web comes later"),
        (Roots(["subcharts"], subcharts=["dbs"]), "there is no subchart dbs; did you mean db?"),
        (Roots(["door"]), "door is a resource of the chart itself, which comes after its subcharts"),
        (Roots(["value"]), "there is no value here; did you mean values?"),
    ],
)
def test_inputs_that_name_anything_else_are_refused(roots: Roots, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as raised:
        inputs({"a": "{{ x }}"}, {"/a": roots})
    (violation,) = raised.value.violations
    assert (violation.field, violation.description) == ("inputs.site.a", sentence)


def test_inputs_must_be_an_object_and_notes_a_text() -> None:
    with pytest.raises(errors.InvalidField, match="must be an object, and not a list"):
        inputs([1])
    with pytest.raises(errors.InvalidField, match="must give text, and not a number"):
        chart_assembly.read_notes("notes", 1)
    assert chart_assembly.read_notes("notes", "a\nb\n") == "a\nb\n"
