"""`tinkwell chart template`: what a chart renders to, in the order in which it is installed."""

from typing import Any

from unit.provisioner.chart.conftest import EXAMPLES, CommandLine, metadata_of

from tinkwell.core.value.document import JsonValue
from tinkwell.core.value.yaml import node as yaml_node

SHOP = str(EXAMPLES / "shop")


def documents(text: str) -> list[JsonValue]:
    return [yaml_node.value_of(node) for node in yaml_node.documents(text)]


def headings(text: str) -> list[str]:
    return [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]


def test_charts_come_in_the_order_of_their_batches(cli: CommandLine) -> None:
    text = cli.ok("template", str(EXAMPLES / "foo"))
    assert headings(text)[:5] == ["foo.nginx", "foo.rabbitmq", "foo.bar", "foo.orphaned", "foo"]
    assert [list(found["resources"]) for found in documents(text) if isinstance(found, dict)] == [  # type: ignore[arg-type]
        ["site"],
        ["queue"],
        ["db"],
        ["lamp"],
        ["web"],
    ]


def test_what_needs_a_state_stays_an_expression(cli: CommandLine) -> None:
    store, web, shop = documents(cli.ok("template", SHOP))[:3]
    assert store["outputs"] == {"address": "{{ db.state.content.split() | last }}"}  # type: ignore[index, call-overload]
    assert web["inputs"] == {"store": "{{ subcharts.store.outputs.address }}"}  # type: ignore[index, call-overload]
    assert web["outputs"] == {"url": "http://shop.example.org/"}  # type: ignore[index, call-overload]
    assert shop["plugs"] == {"files": {"path": "shop"}}  # type: ignore[index, call-overload]


def test_notes_stand_at_the_end_as_comments(cli: CommandLine) -> None:
    text = cli.ok("template", SHOP, "--set", "owner=Bo")
    assert text.endswith("---\n# NOTES\n# Bo's shop is open, in version 1.0.0: http://shop.example.org/\n")
    chart = cli.chart({"templates/NOTES.txt": "{{ release.revision }}\n\nBye.\n"})
    assert cli.ok("template", chart, "--is-upgrade") == "---\n# NOTES\n# 2\n#\n# Bye.\n"


def test_nothing_of_a_chart_is_obeyed_by_a_terminal(cli: CommandLine) -> None:
    strange = r"\x1b]0;t\x07\x9b2J\u202e"
    config = f'resources:\n  a: {{type: acme/a, config: {{x: "{strange}"}}}}\n'
    chart = cli.chart({"templates/a.yaml": config, "templates/NOTES.txt": "turned {{ '\\u202e' }}"})
    text = cli.ok("template", chart)
    assert text.replace("\n", "").isprintable()
    assert text.endswith("# turned \\u202e\n")
    found: Any = documents(text)[0]
    meant = "\x1b]0;t\x07\x9b2J\u202e"
    assert found["resources"]["a"]["config"] == {"x": meant}
    assert cli.json("template", chart)["notes"].strip() == "turned \u202e"


def test_the_release_is_what_is_said(cli: CommandLine) -> None:
    text = 'resources:\n  a: {type: acme/a, config: {x: "{{ release.namespace }}/{{ release.name }}"}}\n'
    chart = cli.chart({"templates/a.yaml": text})
    found = cli.json("template", chart, "--name", "mine", "-n", "prod")
    assert found["manifest"]["resources"]["shop:a"]["config"] == {"x": "prod/mine"}
    assert found.keys() == {"manifest", "late", "notes"}


def test_dependencies_are_named_as_their_chart_names_them(cli: CommandLine) -> None:
    text = (
        "resources:\n  a: {type: acme/a, for_each: [x, y]}\n  b: {type: acme/b, dependencies: {all: a, one: 'a[x]'}}\n"
    )
    found: Any = documents(cli.ok("template", cli.chart({"templates/a.yaml": text})))[0]
    assert found["resources"]["b"]["dependencies"] == {"all": ["a[x]", "a[y]"], "one": "a[x]"}


def test_what_is_wrong_is_told_by_its_file(cli: CommandLine) -> None:
    chart = cli.chart(
        {
            "Chart.yaml": metadata_of("shop", "dependencies:\n  - name: web\n"),
            "templates/a.yaml": 'resources:\n  a: {type: acme/a, config: {x: "{{ subcharts.web.outputs.url }}"}}\n',
            "charts/web/Chart.yaml": metadata_of("web"),
            "charts/web/templates/w.yaml": "outputs: {url: x}\n",
        }
    )
    stderr = cli.fails("template", chart)
    assert stderr.startswith(f"Error: {chart}/templates/a.yaml: resources.a.config.x: ")
    assert "helm.sh/depends-on/subcharts" in stderr


def test_values_that_do_not_match_a_schema_are_told_by_their_path(cli: CommandLine) -> None:
    stderr = cli.fails("template", SHOP, "--set", "store.port=0")
    assert stderr.startswith("Error: values.store.port: ")


def test_a_schema_that_is_none_is_told_by_its_file(cli: CommandLine) -> None:
    chart = cli.chart({"values.schema.json": '{"type": 3}'})
    assert cli.fails("template", chart).startswith(f"Error: {chart}/values.schema.json: is no JSON Schema: ")


def test_warnings_do_not_mix_with_the_manifest(cli: CommandLine) -> None:
    chart = cli.chart({"charts/web/Chart.yaml": metadata_of("web"), "charts/web/templates/w.yaml": "outputs: {a: b}\n"})
    code, output, stderr = cli.run("template", chart)
    assert (code, headings(output)) == (0, ["shop.web"])
    assert stderr.startswith("Warning: ")
    assert "no dependency of shop names it" in stderr


def test_an_expression_is_shown_without_the_end_of_its_line(cli: CommandLine) -> None:
    chart = cli.chart({"templates/NOTES.txt": "{{ values.x }}\n"})
    sentence = "`{{ values.x }}`: there is no x in it; there are none"
    assert cli.fails("template", chart) == f"Error: {chart}/templates/NOTES.txt: {sentence}\n"


def test_a_library_is_not_installed(cli: CommandLine) -> None:
    chart = cli.chart({"Chart.yaml": metadata_of("shop", "type: library\n")})
    assert "cannot be installed" in cli.fails("template", chart)
