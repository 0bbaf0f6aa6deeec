"""What resources need before they can be looked at, and the plan that comes of it."""

import dataclasses
from typing import Any

import pytest

from tinkwell.core.release.graph import build
from tinkwell.core.release.kinds import NodeTask, PlanKind, Wait
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.release.plan import Plan, PlanNode
from tinkwell.core.release.preview import need, plan


def resource(config: dict[str, Any] | None = None, late: Late | None = None, **dependencies: str) -> RenderedResource:
    return RenderedResource(type="x", config=config or {}, late=late or Late(), dependencies=dependencies)


def chart(name: str, *batches: tuple[str, ...], **fields: Any) -> RenderedChart:
    return RenderedChart(name=name, version="1", batches=batches or ((name,),), **fields)


CHARTS = RenderedManifest(
    charts={
        "foo": chart("foo", ("bar",), ("web",), ("foo",), edges=(("bar", "web"), ("bar", "foo"))),
        "foo.bar": chart(
            "bar",
            outputs={"url": "{{ db.state.url }}", "port": 5432},
            late_outputs=Late(pointers=("/url",), names={"db": "foo.bar:db"}),
        ),
        "foo.web": chart(
            "web", inputs={"url": "{{ subcharts.bar.outputs.url }}"}, late_inputs=Late(pointers=("/url",))
        ),
    },
    resources={
        "foo:page": resource({"at": "{{ subcharts.bar.outputs.url }}"}, Late(pointers=("/at",))),
        "foo:plain": resource(),
        "foo.bar:db": resource(),
        "foo.bar:role": resource(db="foo.bar:db"),
        "foo.web:site": resource({"to": ["{{ inputs.url }}/x"]}, Late(pointers=("/to/0",))),
    },
)


def test_a_resource_needs_what_the_outputs_come_from_that_it_names() -> None:
    found = need.needs(CHARTS)
    assert found["foo:page"] == {"foo.bar:db": "config.at needs bar.outputs.url"}
    assert found["foo.bar:role"] == {"foo.bar:db": "it depends on foo.bar:db"}
    assert found["foo.bar:db"] == found["foo:plain"] == {}


def test_inputs_lead_through_the_parent_to_the_outputs_of_a_sibling() -> None:
    assert need.needs(CHARTS)["foo.web:site"] == {"foo.bar:db": "config.to[0] needs inputs.url"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ subcharts.bar.outputs.url }}", "config.at needs bar.outputs.url"),
        ("{{ subcharts['bar']['outputs'] . port }}", "config.at needs bar.outputs"),
        ("{{ subcharts.bar\n.state }} {{ subcharts.bar.outputs .port }}", "config.at needs bar.outputs.port"),
        ("{{ subcharts.bar }}" * 20_000, "config.at needs bar.outputs"),
        ("{{ subcharts.bar.outputs" * 20_000, "config.at needs bar.outputs"),
    ],
)
def test_the_output_is_told_that_a_text_names_behind_a_subchart(text: str, reason: str) -> None:
    page = resource({"at": text}, Late(pointers=("/at",)))
    manifest = dataclasses.replace(CHARTS, resources={**CHARTS.resources, "foo:page": page})
    assert need.needs(manifest)["foo:page"] == {"foo.bar:db": reason}


def test_a_text_that_names_a_dependency_is_told_of_before_the_dependency() -> None:
    late = Late(pointers=("/zone",), names={"disk": "my_disk"})
    manifest = RenderedManifest(
        resources={
            "my_disk": resource(),
            "other": resource(),
            "vm": resource({"zone": "{{ disk.state.zone }}"}, late, disk="my_disk", other="other"),
        }
    )
    assert need.needs(manifest)["vm"] == {
        "my_disk": "config.zone needs my_disk",
        "other": "it depends on other",
    }


def test_a_long_row_of_charts_is_no_deep_row_of_calls() -> None:
    count = 1_500
    charts = {"p": chart("p", *[(f"c{n}",) for n in range(count)], ("p",))}
    resources = {}
    for n in range(count):
        gives = "{{ inputs.x }}" if n else "{{ r.state.x }}"
        names = {} if n else {"r": "p.c0:r"}
        takes = {"x": f"{{{{ subcharts.c{n - 1}.outputs.x }}}}"} if n else {}
        charts[f"p.c{n}"] = chart(
            f"c{n}",
            outputs={"x": gives},
            late_outputs=Late(pointers=("/x",), names=names),
            inputs=takes,
            late_inputs=Late(pointers=("/x",) if n else ()),
        )
        resources[f"p.c{n}:r"] = resource({"x": "{{ inputs.x }}"}, Late(pointers=("/x",))) if n else resource()
    found = need.needs(RenderedManifest(charts=charts, resources=resources))
    assert found[f"p.c{count - 1}:r"] == {"p.c0:r": "config.x needs inputs.x"}


def test_a_plan_that_looks_has_no_charts_and_no_gates_and_waits_for_what_is_needed_alone() -> None:
    whole = build.build_plan(CHARTS, [], {}, wait=Wait.ORDERED)
    looking = plan.looking(whole, need.needs(CHARTS))
    assert {node.path: node.after for node in looking.nodes} == {
        "foo.bar:db": (),
        "foo.bar:role": ("foo.bar:db",),
        "foo.web:site": ("foo.bar:db",),
        "foo:page": ("foo.bar:db",),
        "foo:plain": (),
    }
    assert [node.path for node in looking.nodes] == [node.path for node in whole.resources]
    assert Plan.load(looking.dump()) == looking
    assert plan.last_batch(looking, CHARTS) == 3


def test_removals_wait_for_nothing() -> None:
    removed = (
        PlanNode(path="new"),
        PlanNode(path="role", task=NodeTask.REMOVE, batch=2),
        PlanNode(path="db~1", kind=PlanKind.GATE, task=NodeTask.REMOVE, after=("role",)),
        PlanNode(path="db", task=NodeTask.REMOVE, batch=3, after=("role",)),
    )
    looking = plan.looking(Plan(removed), {"new": {}})
    assert [(node.path, node.after) for node in looking.nodes] == [("new", ()), ("role", ()), ("db", ())]
    assert plan.last_batch(looking, RenderedManifest(resources={"new": resource()})) == 1
    assert plan.last_batch(Plan(()), None) == 0
