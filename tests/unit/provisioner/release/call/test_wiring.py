"""What charts are given by each other: each of it is evaluated once, by those who need it, and in any number."""

from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE, same_process

from tinkwell.core import errors
from tinkwell.core.release.kinds import NodeTask
from tinkwell.core.release.manifest.late import Late
from tinkwell.core.release.manifest.rendered import RenderedChart, RenderedManifest, RenderedResource
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.call.wiring import Wiring
from tinkwell.provisioner.release.expression.naming import ChartNames, FileTexts
from tinkwell.provisioner.release.resource import Resource, Resources


def late(document: JsonObject, **names: str) -> Late:
    pointers = tuple(f"/{key}" for key, text in document.items() if isinstance(text, str) and "{{" in text)
    return Late(pointers=pointers, names=names)


def chart(name: str, *edges: tuple[str, str], inputs: Any = None, outputs: Any = None, **names: str) -> RenderedChart:
    return RenderedChart(
        name=name,
        version="1.0.0",
        batches=((name,),),
        edges=edges,
        inputs=inputs or {},
        late_inputs=late(inputs or {}),
        outputs=outputs or {},
        late_outputs=late(outputs or {}, **names),
    )


class Wired:
    """Evaluates what a chart is given, and counts how much of it."""

    def __init__(self, charts: dict[str, RenderedChart], states: JsonObject | None = None) -> None:
        found = states or {}
        self.manifest = RenderedManifest(charts=charts, resources={path: RenderedResource(type="t") for path in found})
        self.resources = Resources(
            Resource(path=path, type="t", task=NodeTask.INSTALL, manifest=self.manifest, config={}, state=state)  # type: ignore[arg-type]
            for path, state in found.items()
        )
        self.evaluated: list[str] = []
        self.expressions = same_process()
        resolve = self.expressions.resolve

        async def counted(*given: Any, field: str, **others: Any) -> JsonObject:
            self.evaluated.append(field)
            return await resolve(*given, field=field, **others)

        self.expressions.resolve = counted  # type: ignore[method-assign]
        self.wiring = Wiring(self.expressions, self.names_of)

    @staticmethod
    def names_of(path: str) -> ChartNames:
        return ChartNames({"here": path}, RELEASE, {"name": path}, FileTexts())

    async def names(self, path: str, **document: str) -> JsonObject:
        return await self.wiring.names(self.manifest, path, dict(document), late(dict(document)), self.resources)


def nested() -> Wired:
    """A root whose `web` is given what `db` gives, and hands it on to a subchart of its own."""
    return Wired(
        {
            "top": chart("top", ("db", "web"), ("web", "top")),
            "top.db": chart(
                "db", outputs={"url": "{{ disk.state.url }}", "at": "{{ values.here }}"}, disk="top.db:disk"
            ),
            "top.web": chart(
                "web",
                ("in", "web"),
                inputs={"url": "{{ subcharts.db.outputs.url }}!", "at": "{{ values.here }}", "n": 1},
                outputs={"all": "{{ subcharts.in.outputs.all }}, {{ inputs.n }}"},
            ),
            "top.web.in": chart(
                "in", inputs={"url": "{{ inputs.url }}", "at": "{{ chart.name }}"}, outputs={"all": "{{ inputs }}"}
            ),
        },
        {"top.db:disk": {"url": "u"}},
    )


async def test_inputs_are_evaluated_where_they_are_written_and_outputs_in_their_chart() -> None:
    wired = nested()
    found = await wired.names("top.web.in", x="{{ inputs.url }}")
    assert found == {"inputs": {"url": "u!", "at": "top.web"}, "subcharts": {}}
    found = await wired.names("top", x="{{ subcharts.web.outputs.all }}")
    assert found == {"inputs": {}, "subcharts": {"web": {"outputs": {"all": "{'url': 'u!', 'at': 'top.web'}, 1"}}}}


async def test_each_is_evaluated_once_and_what_nobody_names_never() -> None:
    wired = nested()
    assert await wired.names("top.web", x="{{ values.here }}") == {"inputs": {}, "subcharts": {}}
    assert wired.evaluated == []
    for _ in range(3):
        await wired.names("top.web.in", x="{{ inputs.url }}")
    assert wired.evaluated == ['charts["top.db"].outputs', 'charts["top.web"].inputs', 'charts["top.web.in"].inputs']


async def test_what_cannot_be_evaluated_is_told_by_its_chart_and_asked_for_again() -> None:
    wired = nested()
    wired.resources["top.db:disk"].state = {}
    with pytest.raises(
        errors.InvalidField, match=r'charts\["top.db"\].outputs.url: `{{ disk.state.url }}`: there is no'
    ):
        await wired.names("top.web", x="{{ inputs.url }}")
    wired.resources["top.db:disk"].state = {"url": "v"}
    assert (await wired.names("top.web", x="{{ inputs.url }}"))["inputs"] == {"url": "v!", "at": "top", "n": 1}


async def test_a_long_row_of_charts_is_no_deep_row_of_calls() -> None:
    count = 1_500
    row = {
        f"top.c{number}": chart(
            f"c{number}",
            inputs={"n": f"{{{{ subcharts.c{number - 1}.outputs.n + 1 }}}}"} if number else {"n": 0},
            outputs={"n": "{{ inputs.n }}"},
        )
        for number in range(count)
    }
    edges = [(f"c{number - 1}", f"c{number}") for number in range(1, count)]
    wired = Wired({"top": chart("top", *edges), **row})
    assert await wired.names(f"top.c{count - 1}", x="{{ inputs.n }}") == {"inputs": {"n": count - 1}, "subcharts": {}}
