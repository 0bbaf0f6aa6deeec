"""Charts made of files, rendered in the test's own process."""

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest
from unit.provisioner.release.expression.asking import RELEASE, same_process

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import chart
from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.value.document import JsonObject
from tinkwell.provisioner.release.prepare import chart_render
from tinkwell.provisioner.release.prepare.chart_render import Rendered
from tinkwell.provisioner.release.prepare.chart_source import Charts

# A root with two subcharts, of which `site` is given what `store` gives, and a manifest that names both.
SHOP = {
    "Chart.yaml": """
        apiVersion: v2
        name: shop
        version: 1.2.3
        annotations: {"helm.sh/depends-on/subcharts": '["site"]'}
        dependencies:
        - {name: store, version: 1.x}
        - name: site
          depends-on: [store]
          inputs:
            url: "https://{{ subcharts.store.outputs.address }}/{{ values.path }}"
            path: "{{ values.path }}"
            size: "{{ values.size }}"
    """,
    "values.yaml": "path: x\nsize: 3\nsite: {replicas: 2}\n",
    "templates/own.yaml": """
        resources:
          door:
            type: acme/door
            config: {site: "{{ subcharts['site'].outputs.name }}", path: "{{ values.path }}"}
        outputs: {door: "{{ door.state.url }}", path: "{{ values.path }}"}
    """,
    "templates/NOTES.txt": "Installed {{ release.name }} {{ chart.version }} with {{ values.size }}.\n",
    "charts/store/Chart.yaml": "apiVersion: v2\nname: store\nversion: 1.0.1\n",
    "charts/store/templates/disk.yaml": """
        plugs: {data: {path: data}}
        resources: {disk: {type: acme/disk, config: {name: www}}}
        outputs: {address: "{{ disk.state.address }}"}
    """,
    "charts/site/Chart.yaml": "apiVersion: v2\nname: site\nversion: 2.0.0\n",
    "charts/site/templates/site.yaml": """
        resources:
          vm: {type: acme/vm, for_each: "{{ range(values.replicas) }}", config: {n: "{{ each.key }}"}}
          web:
            type: acme/web
            dependencies: {machines: vm}
            config: {url: "{{ inputs.url }}", size: "{{ inputs.size }}", on: "{{ machines | length }}"}
        outputs: {name: "{{ web.state.name }}"}
    """,
}


def files(given: Mapping[str, str | bytes], **others: str | bytes) -> dict[str, bytes]:
    """Return the files of a chart; `_` at the begin of a name in `others` stands for nothing."""
    return {
        path: text if isinstance(text, bytes) else textwrap.dedent(text).lstrip("\n").encode()
        for path, text in {**given, **others}.items()
    }


def charts(given: Mapping[str, str | bytes], values: JsonObject | None = None) -> Charts:
    return Charts(process.process(chart.load(files(given)), values or {}))


async def rendered(
    given: Mapping[str, str | bytes], values: JsonObject | None = None, *, wait: Wait = Wait.ORDERED
) -> Rendered:
    return await chart_render.render(charts(given, values), RELEASE, same_process(), wait=wait)


async def manifest(given: Mapping[str, str | bytes], values: JsonObject | None = None) -> RenderedManifest:
    """Render, and make sure that what is stored is what was rendered."""
    found = (await rendered(given, values)).manifest
    assert RenderedManifest.from_json(found.as_json(), found.late_as_json()) == found
    return found


async def refused(
    given: Mapping[str, str | bytes], values: JsonObject | None = None, *, wait: Wait = Wait.ORDERED
) -> dict[str, str]:
    """Return what is wrong with a chart, by its field."""
    with pytest.raises(errors.InvalidField) as raised:
        await rendered(given, values, wait=wait)
    return {violation.field: violation.description for violation in raised.value.violations}


def alone(template: str, **others: Any) -> dict[str, str | bytes]:
    """Return the files of a chart with one template, and others by their paths."""
    return {
        "Chart.yaml": "apiVersion: v2\nname: one\nversion: 0.1.0\n",
        "templates/a.yaml": template,
        **others,
    }
