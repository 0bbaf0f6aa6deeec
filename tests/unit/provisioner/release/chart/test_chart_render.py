"""What charts give when they are rendered, and what is said of those that cannot be."""

import json
from typing import Any

import pytest
from unit.provisioner.release.chart.releasing import SHOP, alone, manifest, refused, rendered
from unit.provisioner.release.expression.asking import RELEASE

from tinkwell.core.release.kinds import Wait
from tinkwell.core.release.manifest.late import Late

WEB = "charts/site/templates/site.yaml"


async def test_every_path_begins_with_its_chart() -> None:
    found = await manifest(SHOP)
    assert [*found.resources] == ["shop:door", "shop.store:disk", "shop.site:vm[0]", "shop.site:vm[1]", "shop.site:web"]
    assert [*found.plugs] == ["shop.store:data"]
    ((chart, plugs),) = found.plugs_by_chart().items()
    assert (chart, plugs["data"].path) == ("shop.store", "data")
    assert found.resources["shop.site:web"].dependencies == {"machines": ("shop.site:vm[0]", "shop.site:vm[1]")}
    assert found.resources["shop.site:web"].late.names == {"machines": ("shop.site:vm[0]", "shop.site:vm[1]")}
    assert not found.outputs


async def test_charts_are_told_of_with_their_order_and_what_they_are_given() -> None:
    shop, store, site = (await manifest(SHOP)).charts.values()
    assert (shop.name, shop.version, shop.batches) == ("shop", "1.2.3", (("store",), ("site",), ("shop",)))
    assert shop.edges == (("site", "shop"), ("store", "site"))
    assert (store.name, store.batches, store.inputs) == ("store", (("store",),), {})
    assert site.inputs == {
        "url": "https://{{ subcharts.store.outputs.address }}/{{ values.path }}",
        "path": "x",
        "size": 3,
    }
    assert site.late_inputs == Late(pointers=("/url",))
    assert store.late_outputs == Late(pointers=("/address",), names={"disk": "shop.store:disk"})
    assert shop.outputs["path"] == "x"
    assert shop.notes == "Installed shop 1.2.3 with 3.\n\n"
    assert not site.notes


async def test_values_of_the_user_reach_the_chart_whose_they_are() -> None:
    found = await manifest(SHOP, {"site": {"replicas": 1}, "path": "y"})
    assert [path for path in found.resources if "vm" in path] == ["shop.site:vm[0]"]
    assert found.resources["shop:door"].config["path"] == "y"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ values.n }}", 5),
        ("{{ values.list }}", [1, "a", None]),
        ("{{ values.deep }}", {"x": {"y": 1.5}}),
        ("{{ values.deep.x.y }}", 1.5),
        ("{{ values['a-b'] }}", True),
        ("n={{ values.n }}", "n=5"),
        ("{{ values.absent | default(7) }}", 7),
        ("{{ values.absent is defined }}", False),
        ("{{ values.expression }}", "{{ values.n }}"),
        ("{{ chart.name }}", "one"),
        ("{{ chart.version }}", "0.1.0"),
        ("{{ release }}", RELEASE),
        ('{{ files.get("a.conf") }}', "a {{ b }}\n"),
        ('{{ files.get("sub/b.conf") | upper }}', "É"),
        ('{{ files.get("sub/" ~ "b" ~ ".conf") }}', "é"),
    ],
)
async def test_expressions_of_charts_give_values_with_their_types(text: str, value: Any) -> None:
    given = alone(
        f"resources: {{web: {{type: t, config: {{x: {json.dumps(text)}}}}}}}",
        **{
            "values.yaml": "n: 5\nlist: [1, a, null]\ndeep: {x: {y: 1.5}}\na-b: true\nexpression: '{{ values.n }}'\n",
            "files/a.conf": b"a {{ b }}\n",
            "files/sub/b.conf": "é",
        },
    )
    assert (await manifest(given)).resources["one:web"].config == {"x": value}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{{ files.get("c.conf") }}', 'the chart has no file "c.conf" in files/; did you mean a.conf?'),
        ('{{ files.get("../Chart.yaml") }}', 'the chart has no file "../Chart.yaml" in files/; known are a.conf, bin'),
        ('{{ files.get("bin") }}', 'the file "bin" is no text in UTF-8'),
        ("{{ files.get(1) }}", 'files.get takes the path of a file, such as files.get("app.conf")'),
        ("{{ files }}", "gives Files, for which JSON has no form"),
        ("{{ files.get }}", "gives a function; call it with (), or write x['name'] for what is called like it"),
        ("{{ files._texts }}", "_texts of Files is not allowed"),
        ("{{ replicas }}", "there is no replicas here; did you mean release?"),
        ("{{ vars.x }}", "there is no vars here; did you mean values?"),
        ("{{ values.replica }}", "there is no replica in it; did you mean replicas?"),
        ("{{ subcharts }}", "subcharts must be followed by the name of one, so that it is known which: write"),
        ("{{ subcharts[values.replicas] }}", "subcharts must be followed by the name of one, so that it is known"),
        ('{{ subcharts["a" "b"] }}', "subcharts must be followed by the name of one, so that it is known which"),
        ("{% set all = subcharts %}x", "subcharts must be followed by the name of one, so that it is known which"),
        ("{{ subcharts.web }}", "there is no subchart web; there are none"),
    ],
)
async def test_what_cannot_be_evaluated_is_told_by_its_file(text: str, reason: str) -> None:
    given = alone(
        f"resources: {{web: {{type: t, config: {{x: {json.dumps(text)}}}}}}}",
        **{"values.yaml": "replicas: 1\n", "files/a.conf": "a", "files/bin": b"\xff\x00"},
    )
    ((field, found),) = (await refused(given)).items()
    assert field == "templates/a.yaml.resources.web.config.x"
    assert reason in found


async def test_early_texts_cannot_name_what_is_known_late() -> None:
    given = alone("resources: {web: {type: 't:{{ inputs.version }}', when: '{{ subcharts.a.outputs.b }}'}}")
    late = "is known only when others have settled; config, outputs and inputs alone can name it"
    assert {field: reason.rpartition(": ")[2] for field, reason in (await refused(given)).items()} == {
        "templates/a.yaml.resources.web.type": f"inputs {late}",
        "templates/a.yaml.resources.web.when": f"subcharts {late}",
    }


async def test_who_names_a_subchart_is_told_the_line_by_which_it_waits() -> None:
    changed = SHOP | {"templates/b.yaml": "resources: {b: {type: t, config: {x: '{{ subcharts.store.outputs.a }}'}}}"}
    ((field, reason),) = (await refused(changed)).items()
    assert field == "templates/b.yaml.resources.b.config.x"
    assert reason.endswith(
        "shop does not wait for store; add to the annotations in Chart.yaml the line "
        """helm.sh/depends-on/subcharts: '["site", "store"]'"""
    )


async def test_inputs_that_name_a_sibling_wait_for_it() -> None:
    changed = SHOP | {"Chart.yaml": SHOP["Chart.yaml"].replace("depends-on: [store]", "depends-on: []")}
    ((field, reason),) = (await refused(changed)).items()
    assert field == "Chart.yaml.dependencies[1].inputs.url"
    assert reason.endswith(
        'site does not wait for store; add to its entry in Chart.yaml the line depends-on: ["store"]'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ subcharts.site.outputs.name }}", "site cannot use its own outputs as its inputs"),
        ("{{ subcharts.stroe.outputs.name }}", "there is no subchart stroe; did you mean store?"),
        ("{{ door.state.url }}", "door is a resource of the chart itself, which comes after its subcharts"),
        ("{{ values.absent }}", "`{{ values.absent }}`: there is no absent in it; known are path, site, size, store"),
    ],
)
async def test_inputs_that_name_what_is_not_there_are_told(text: str, reason: str) -> None:
    changed = SHOP | {"Chart.yaml": SHOP["Chart.yaml"].replace("{{ values.size }}", text)}
    ((field, found),) = (await refused(changed)).items()
    assert field == "Chart.yaml.dependencies[1].inputs.size"
    assert found == reason


async def test_a_subchart_that_is_disabled_cannot_be_named() -> None:
    off = SHOP["Chart.yaml"].replace("version: 1.x", "version: 1.x, condition: store.enabled")
    found = await refused(SHOP | {"Chart.yaml": off}, {"store": {"enabled": False}})
    assert found == {
        "Chart.yaml.dependencies[1].inputs.url": "store is not installed: condition store.enabled is false; enable it, "
        "or leave it out here"
    }


async def test_where_nothing_waits_no_subchart_can_be_named() -> None:
    found = await refused(SHOP, wait=Wait.NONE)
    assert [*found] == ["templates/own.yaml.resources.door.config.site", "Chart.yaml.dependencies[1].inputs.url"]
    assert "store is not waited for: with --wait none nothing waits" in found["Chart.yaml.dependencies[1].inputs.url"]
    constant = SHOP["Chart.yaml"].replace("{{ subcharts.store.outputs.address }}", "here")
    own = SHOP["templates/own.yaml"].replace("{{ subcharts['site'].outputs.name }}", "x")
    assert (await rendered(SHOP | {"Chart.yaml": constant, "templates/own.yaml": own}, wait=Wait.NONE)).manifest.charts


async def test_mistakes_of_several_charts_are_told_together_by_their_files() -> None:
    changed = SHOP | {
        "charts/store/templates/b.yaml": "resources: {b: {type: '{{ values.no }}'}}",
        WEB: SHOP[WEB].replace("machines: vm}", "machines: wm}"),
        "charts/site/templates/c.yaml": "# nothing yet\n",
        "templates/x.yaml": "resources: [1]\n",
    }
    found = await refused(changed)
    assert found["templates/x.yaml.resources"].startswith("line 1, column 1: must be an object")
    del changed["templates/x.yaml"]
    found = await refused(changed)
    assert [*found] == [
        "charts/store/templates/b.yaml.resources.b.type",
        f"{WEB}.resources.web.dependencies.machines",
        f"{WEB}.resources.web.config.on",
    ]


async def test_of_a_chart_with_several_aliases_it_is_told_which_is_meant() -> None:
    given = {
        "Chart.yaml": """
            apiVersion: v2
            name: top
            version: 0.1.0
            dependencies: [{name: db, alias: a}, {name: db, alias: b}]
        """,
        "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 0.1.0\n",
        "charts/db/values.yaml": "n: 1\n",
        "charts/db/templates/x.yaml": "resources: {x: {type: t, config: {n: '{{ 1 // values.n }}'}}}\n",
    }
    assert [*(await manifest(given)).resources] == ["top.a:x", "top.b:x"]
    found = await refused(given, {"b": {"n": 0}})
    assert found == {
        "charts/db/templates/x.yaml.resources.x.config.n": "in top.b: `{{ 1 // values.n }}`: cannot be evaluated: "
        "integer division or modulo by zero (ZeroDivisionError)"
    }


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        (
            "templates/d.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
            "is a Kubernetes Deployment; Tinkwell runs resource images",
        ),
        (
            "templates/d.yaml",
            "{{- if .Values.x }}\na: 1\n{{- end }}\n",
            'this is a Go template; expressions are Jinja in quoted texts: write "{{ values.replicas }}" for a value',
        ),
        (
            "templates/d.yaml",
            "resources: {a: {type: '{{ .Values.image }}'}}",
            'this is a Go template; expressions are Jinja in quoted texts: write "{{ values.replicas }}" for a value',
        ),
        ("templates/NOTES.txt", "Visit {{ .Release.Name }}\n", "this is a Go template"),
        ("templates/NOTES.txt", "Visit {{ realease }}\n", "there is no realease here; did you mean release?"),
        ("templates/NOTES.txt", "bell {{ '\\x07' }}\n", "has the control character"),
        ("templates/_helpers.tpl", '{{ define "x" }}{{ end }}', "holds definitions of Go templates"),
        ("templates/x.yaml", "resources: {x: {type: t, config: {}}}\nresource: {}\n", "there is no such field"),
        ("templates/x.yaml", "a: [", "line 1"),
        ("templates/x.yaml", "resources: {x: {type: t}, x: {type: u}}", "x"),
    ],
)
async def test_what_is_no_template_of_ours_is_refused_with_a_sentence(path: str, text: str, reason: str) -> None:
    found = await refused(alone("resources: {web: {type: t}}", **{path: text}))
    assert all(field.startswith(path) for field in found)
    assert reason in " ".join(found.values())


async def test_a_chart_without_templates_brings_about_nothing() -> None:
    found = await manifest({"Chart.yaml": "apiVersion: v2\nname: one\nversion: 0.1.0\n"})
    assert not found.resources
    assert [*found.charts] == ["one"]


async def test_data_that_poses_as_our_own_markers_stays_data() -> None:
    given = alone(
        "resources: {web: {type: t, config: {a: {$expr: x}, b: {$secret: y}, c: '{{ values.d }}'}}}\n"
        "outputs: {o: {$expr: 1}}",
        **{"values.yaml": "d: {$expr: '{{ 1 }}', $secret: z}\n"},
    )
    found = await manifest(given)
    assert found.resources["one:web"].config == {
        "a": {"$expr": "x"},
        "b": {"$secret": "y"},
        "c": {"$expr": "{{ 1 }}", "$secret": "z"},
    }
    assert found.charts["one"].outputs == {"o": {"$expr": 1}}
    assert not found.resources["one:web"].late.pointers


@pytest.mark.parametrize(
    "text",
    [
        "{{ files.__class__ }}",
        "{{ files.get.__globals__ }}",
        "{{ files.get.__func__.__code__ }}",
        "{{ files.get.__self__._texts }}",
        "{{ files['__class__'] }}",
        "{{ files['_refused'] }}",
        "{{ [files] | map(attribute='_texts') | list }}",
        "{{ [files] | map(attribute='__init__') | list }}",
        "{{ files.__init__({}, {}) }}",
        "{{ files.get(files) }}",
        "{{ chart.__class__.__mro__ }}",
        "{{ values.update({'x': 1}) }}",
        "{{ values.clear() }}",
        "{{ values.__class__ }}",
        "{{ release.pop('name') }}",
        "{{ files }}x",
        "{{ [files.get] | first }}",
    ],
)
async def test_what_a_chart_is_given_leads_nowhere_else(text: str) -> None:
    given = alone(
        f"resources: {{web: {{type: t, config: {{x: {json.dumps(text)}}}}}}}",
        **{"files/a": "a", "values.yaml": "n: 1\n"},
    )
    ((field, reason),) = (await refused(given)).items()
    assert field == "templates/a.yaml.resources.web.config.x"
    assert "0x" not in reason


@pytest.mark.parametrize("text", ["{{ files ~ '' }}", "{{ files | string }}", "{{ [files] | join }}"])
async def test_no_text_shows_where_in_memory_something_is(text: str) -> None:
    given = alone(f"resources: {{web: {{type: t, config: {{x: {json.dumps(text)}}}}}}}")
    assert (await manifest(given)).resources["one:web"].config == {"x": "files"}
