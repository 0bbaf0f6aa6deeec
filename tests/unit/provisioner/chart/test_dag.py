"""`tinkwell chart dag`: the order of subcharts, as text, as JSON, and as graphs."""

import pytest
from unit.provisioner.chart.conftest import EXAMPLES, HELM_CHARTS, CommandLine, metadata_of

FOO = str(EXAMPLES / "foo")
SEQUENCED = str(HELM_CHARTS / "sequenced")


def test_the_seed_s_chart_has_three_batches(cli: CommandLine) -> None:
    assert cli.ok("dag", FOO) == (
        "foo\n"
        "  batch 1   nginx · rabbitmq\n"
        "  batch 2   bar            ← nginx, rabbitmq   dependencies[2].depends-on\n"
        "  batch 3   orphaned · foo ← bar, rabbitmq     annotations helm.sh/depends-on/subcharts\n"
    )


def test_subcharts_with_an_order_of_their_own_stand_below(cli: CommandLine) -> None:
    assert cli.ok("dag", SEQUENCED) == (
        "sequenced\n"
        "  batch 1   database\n"
        "  batch 2   application ← database      dependencies[1].depends-on\n"
        "  batch 3   sequenced   ← application   annotations helm.sh/depends-on/subcharts\n"
        "  sequenced.application\n"
        "    batch 1   cache\n"
        "    batch 2   worker ← cache   dependencies[1].depends-on\n"
        "    batch 3   application\n"
    )


def test_names_of_one_batch_that_need_something_have_a_line_each(cli: CommandLine) -> None:
    entries = "".join(
        f"  - {{name: {name}, depends-on: [{', '.join(needed)}]}}\n"
        for name, needed in {"base": (), "left": ("base",), "right": ("base", "base"), "alone": ()}.items()
    )
    subcharts = {f"charts/{name}/Chart.yaml": metadata_of(name) for name in ("base", "left", "right", "alone", "extra")}
    chart = cli.chart({"Chart.yaml": metadata_of("shop", f"dependencies:\n{entries}"), **subcharts})
    shown = cli.ok("dag", chart).splitlines()
    assert shown[:5] == [
        "shop",
        "  batch 1   base",
        "  batch 2   left  ← base   dependencies[1].depends-on",
        "            right ← base   dependencies[2].depends-on",
        "  batch 3   alone · extra · shop",
    ]
    (warning,) = shown[5:]
    assert warning.startswith("  warning: charts/extra: ")


def test_as_json_it_has_everything(cli: CommandLine) -> None:
    found = cli.json("dag", FOO)
    assert found.keys() == {"chart", "path", "batches", "edges", "warnings", "children"}
    assert (found["chart"], found["path"], found["warnings"]) == ("foo", "foo", [])
    assert found["batches"] == [["nginx", "rabbitmq"], ["bar"], ["orphaned", "foo"]]
    assert {"from": "nginx", "to": "bar", "origins": ["Chart.yaml dependencies[2].depends-on"]} in found["edges"]
    assert found["children"]["bar"]["path"] == "foo.bar"


def test_graphviz_gets_boxes_within_boxes(cli: CommandLine) -> None:
    lines = cli.ok("dag", SEQUENCED, "-o", "dot").splitlines()
    assert (lines[0], lines[-1]) == ('digraph "sequenced" {', "}")
    assert '  "sequenced.database" -> "sequenced.application";' in lines
    assert '  "sequenced.application.cache" -> "sequenced.application.worker";' in lines
    assert '  "sequenced.application" -> "sequenced";' in lines
    assert sum("subgraph" in line for line in lines) == 2
    assert sum(line.endswith("{") for line in lines) == sum(line.strip() == "}" for line in lines)


def test_mermaid_gets_a_flowchart(cli: CommandLine) -> None:
    lines = cli.ok("dag", FOO, "-o", "mermaid").splitlines()
    assert lines[0] == "flowchart LR"
    names = {line.split('["')[1].removesuffix('"]'): line.split("[")[0].strip() for line in lines if '["' in line}
    assert f"  {names['nginx']} --> {names['bar']}" in lines
    assert sum(" --> " in line for line in lines) == 4


def test_values_decide_what_is_in_the_order(cli: CommandLine) -> None:
    blog = str(HELM_CHARTS / "blog")
    assert cli.json("dag", blog)["batches"] == [["database", "blog"]]
    assert cli.json("dag", blog, "--set", "cache.enabled=true")["batches"] == [["cache", "database", "blog"]]
    code, output, _ = cli.run("dag", blog, "-f", "-", stdin="database: {enabled: false}\n")
    assert (code, output) == (0, "blog\n  batch 1   blog\n")


def wired(cli: CommandLine, **needed: str) -> str:
    """Write a chart whose subcharts a, b and c need what is given."""
    entries = "".join(
        f"  - {{name: {name}, condition: {name}.on, depends-on: [{needed.get(name, '')}]}}\n" for name in "abc"
    )
    metadata = {f"charts/{name}/Chart.yaml": metadata_of(name) for name in "abc"}
    return cli.chart({"Chart.yaml": metadata_of("shop", f"dependencies:\n{entries}"), **metadata})


@pytest.mark.parametrize(
    ("needed", "kind", "names"),
    [
        ({"a": "b", "b": "c", "c": "a"}, "cycle", {"a", "b", "c"}),
        ({"a": "nginx"}, "unknown", {"a", "nginx"}),
        ({"a": "a"}, "itself", {"a"}),
    ],
)
def test_what_is_wrong_is_told_to_programs(
    cli: CommandLine, needed: dict[str, str], kind: str, names: set[str]
) -> None:
    error = cli.json("dag", wired(cli, **needed), code=1)["error"]
    assert (error["kind"], error["path"], set(error["names"])) == (kind, "shop", names)
    assert error["field"].startswith("Chart.yaml.dependencies[")


def test_what_is_wrong_is_told_to_people_with_its_place(cli: CommandLine) -> None:
    chart = wired(cli, a="nginx", b="b")
    first, second = cli.fails("dag", chart).splitlines()
    assert first.startswith(f"Error: {chart}/Chart.yaml:5:32: dependencies[0].depends-on: ")
    assert second.startswith(f"Error: {chart}/Chart.yaml:6:32: dependencies[1].depends-on: ")
    assert "nginx" in first


def test_a_disabled_name_is_a_warning_and_with_strict_an_error(cli: CommandLine) -> None:
    chart = wired(cli, b="a")
    off = ("--set", "a.on=false")
    found = cli.json("dag", chart, *off)
    assert found["batches"] == [["b", "c", "shop"]]
    assert "condition a.on is false" in found["warnings"][0]
    assert cli.json("dag", chart, *off, "--strict", code=1)["error"]["kind"] == "disabled"
    assert "condition a.on is false" in cli.fails("dag", chart, *off, "--strict")


def test_what_the_user_gives_wrongly_is_told_as_such(cli: CommandLine) -> None:
    assert cli.json("dag", FOO, "--set", "bar=1", code=1)["error"]["kind"] == "given"
    assert cli.fails("dag", FOO, "--set", "bar").startswith("Error: --set bar: ")
    assert "none.yaml" in cli.fails("dag", FOO, "-f", "none.yaml")
    assert "does not exist" in cli.fails("dag", "nowhere", code=2)


def test_a_broken_file_is_told_with_line_and_column(cli: CommandLine) -> None:
    chart = cli.chart({"values.yaml": "a: 1\na: 2\n"})
    assert cli.fails("dag", chart).startswith(f"Error: {chart}/values.yaml:2:1: ")
    error = cli.json("dag", chart, code=1)["error"]
    assert (error["kind"], error["path"], error["names"]) == ("chart", "", [])
