"""`tinkwell chart lint`: what is wrong with a chart, how much that matters, and the exit code."""

import pytest
from unit.provisioner.chart.conftest import EXAMPLES, HELM_CHARTS, CommandLine, metadata_of

GOOD = "resources:\n  a: {type: acme/a}\n"


@pytest.mark.parametrize("name", ["foo", "shop"])
def test_a_good_chart_has_no_findings(cli: CommandLine, name: str) -> None:
    assert cli.ok("lint", str(EXAMPLES / name), "--strict") == "0 errors, 0 warnings\n"


def test_what_is_wrong_is_told_by_file_line_and_column(cli: CommandLine) -> None:
    chart = cli.chart({"templates/a.yaml": "resources:\n  a: {typ: acme/a}\n"})
    code, output, _ = cli.run("lint", chart)
    assert code == 1
    assert f"ERROR    {chart}/templates/a.yaml:2:7: resources.a.typ: there is no such field" in output
    assert output.endswith("\n2 errors, 0 warnings\n")


def test_a_warning_fails_with_strict_alone(cli: CommandLine) -> None:
    chart = cli.chart({"Chart.yaml": metadata_of("shop", "maintainer: Ada\n"), "templates/a.yaml": GOOD})
    output = cli.ok("lint", chart)
    assert output.startswith(f"WARNING  {chart}/Chart.yaml: there is no field maintainer")
    assert output.endswith("0 errors, 1 warning\n")
    code, _, _ = cli.run("lint", chart, "--strict")
    assert code == 1


def test_hints_are_left_out_with_quiet(cli: CommandLine) -> None:
    entries = "dependencies:\n  - {name: web, alias: one}\n  - {name: web, alias: two}\n"
    chart = cli.chart({"Chart.yaml": metadata_of("shop", entries), "charts/web/Chart.yaml": metadata_of("web")})
    assert "INFO     web 1.0.0 is installed 2 times: shop.one, shop.two\n" in cli.ok("lint", chart, "--strict")
    assert cli.ok("lint", chart, "--quiet") == "0 errors, 0 warnings\n"


def test_all_kinds_of_mistakes_are_told_at_once(cli: CommandLine) -> None:
    chart = cli.chart(
        {
            "templates/_helpers.tpl": "",
            "templates/a.yaml": "apiVersion: v1\nkind: Pod\n",
            "templates/b.yaml": 'resources:\n  b: {type: acme/b, config: {x: "{{ nothing }}"}}\n',
            "charts/web/Chart.yaml": metadata_of("web"),
            "charts/web/crds/a.yaml": "",
            "charts/web/templates/w.yaml": 'resources:\n  w: {type: acme/w, config: {x: "{{ values.y }}"}}\n',
            "charts/web/values.schema.json": '{"properties": {"size": {"type": "integer"}}}',
        }
    )
    found = cli.json("lint", chart, "--set", "web.size=large", code=1)
    wrong = [each["message"] for each in found if each["severity"] == "ERROR"]
    for place in (
        f"{chart}/templates/_helpers.tpl: ",
        f"{chart}/charts/web/crds/: ",
        "values.web.size: ",
        f"{chart}/templates/a.yaml:1:1: is a Kubernetes Pod",
        f"{chart}/charts/web/templates/w.yaml: resources.w.config.x: ",
    ):
        assert any(message.startswith(place) for message in wrong), place
    assert found[-1]["severity"] == "WARNING"
    assert "no dependency of shop names it" in found[-1]["message"]


def test_a_loop_deep_down_names_its_chart(cli: CommandLine) -> None:
    loop = "dependencies:\n  - {name: a, depends-on: [b]}\n  - {name: b, depends-on: [a]}\n"
    chart = cli.chart(
        {
            "Chart.yaml": metadata_of("shop", "dependencies:\n  - name: app\n"),
            "charts/app/Chart.yaml": metadata_of("app", loop),
            "charts/app/charts/a/Chart.yaml": metadata_of("a"),
            "charts/app/charts/b/Chart.yaml": metadata_of("b"),
        }
    )
    code, output, _ = cli.run("lint", chart)
    assert code == 1
    assert f"{chart}/charts/app/Chart.yaml" in output
    assert "shop.app" in output


def test_what_cannot_be_read_is_a_finding(cli: CommandLine) -> None:
    chart = cli.chart({"values.yaml": "a: [\n"})
    code, output, _ = cli.run("lint", chart)
    assert code == 1
    assert output.startswith(f"ERROR    {chart}/values.yaml:2:1: not YAML")


OWN = {
    "batch": ["templates/migrate.yaml:1:1: is a Kubernetes Job", "connection.yaml:1:1: is a Kubernetes Pod"],
    "blog": ["templates/secret.yaml:1:3: this is a Go template", "statefulset.yaml:4:10: this is a Go template"],
    "common": ["Chart.yaml: type: library is a chart with definitions for others", "_names.tpl: holds definitions"],
    "legacy": ["templates/config.yaml:1:1: is a Kubernetes ConfigMap"],
    "operator": ["crds/: holds definitions for Kubernetes", "templates/rbac.yaml:1:3: this is a Go template"],
    "platform": ["charts/api/templates/deploy.yaml:1:1: is a", "charts/worker/templates/deploy.yaml:1:1: is a"],
    "replicas": ["charts/postgres/templates/pod.yaml:1:1: is a Kubernetes Pod"],
    "sequenced": [
        "charts/database/templates/service.yaml:1:1: is a",
        "charts/application/templates/service.yaml:1:1: is a",
        "charts/application/charts/cache/templates/service.yaml:1:1: is a",
        "charts/application/charts/worker/templates/service.yaml:1:1: is a",
    ],
    "stack": ["templates/rules.yaml:6:14: this is a Go template", "server.yaml:1:1: is a Kubernetes Service"],
    "web": [
        "_helpers.tpl: holds definitions of Go templates",
        "templates/deployment.yaml:",
        "templates/service.yaml:1:1: is a Kubernetes Service",
        "templates/NOTES.txt: this is a Go template",
    ],
}


@pytest.mark.parametrize("name", OWN)
def test_a_chart_of_helm_has_only_errors_of_its_own_and_no_others(cli: CommandLine, name: str) -> None:
    found = cli.json("lint", str(HELM_CHARTS / name), code=1)
    wrong = [each["message"] for each in found if each["severity"] == "ERROR"]
    for sentence in OWN[name]:
        assert any(sentence in message for message in wrong), (sentence, wrong)
    assert len(wrong) == len(OWN[name]), wrong
