"""Charts as users of Helm write them: their order is understood as it is."""

import pytest
from unit.provisioner.chart.conftest import HELM_CHARTS, CommandLine

BATCHES = {
    "batch": [["batch"]],
    "blog": [["database", "blog"]],
    "common": [["common"]],
    "legacy": [["legacy"]],
    "operator": [["operator"]],
    "platform": [["api", "worker", "platform"]],
    "replicas": [["primary"], ["standby"], ["replicas"]],
    "sequenced": [["database"], ["application"], ["sequenced"]],
    "stack": [["monitoring", "stack"]],
    "web": [["web"]],
}


def test_there_are_ten_charts() -> None:
    assert sorted(path.name for path in HELM_CHARTS.iterdir()) == sorted(BATCHES)
    assert len(BATCHES) == 10


@pytest.mark.parametrize("name", BATCHES)
def test_its_order_is_shown(cli: CommandLine, name: str) -> None:
    assert cli.json("dag", str(HELM_CHARTS / name))["batches"] == BATCHES[name]


@pytest.mark.parametrize("name", BATCHES)
def test_to_render_it_gives_its_own_errors_and_no_others(cli: CommandLine, name: str) -> None:
    chart = str(HELM_CHARTS / name)
    for line in cli.fails("template", chart).splitlines():
        assert line.startswith(f"Error: {chart}/"), line
        assert any(sentence in line for sentence in ("is a Kubernetes ", "Go template", "for Kubernetes", "library")), (
            line
        )


def test_dependencies_of_helm_2_are_told_where_they_belong(cli: CommandLine) -> None:
    chart = cli.chart({"requirements.yaml": "dependencies: []\n"})
    assert cli.fails("dag", chart) == (
        f"Error: {chart}/requirements.yaml: is of Helm 2; write its entries as dependencies in Chart.yaml\n"
    )
