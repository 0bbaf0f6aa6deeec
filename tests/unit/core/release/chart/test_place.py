"""Where something is wrong in a chart is told by file, line and column."""

import pytest

from tinkwell.core.errors import Violation
from tinkwell.core.release.chart import place


@pytest.mark.parametrize(
    ("field", "description", "told"),
    [
        ("Chart.yaml", "must be given", "./shop/Chart.yaml: must be given"),
        ("Chart.yaml.name", "line 2, column 7: is no name", "./shop/Chart.yaml:2:7: name: is no name"),
        (
            "charts/bar/Chart.yaml.dependencies[2].depends-on",
            "line 9, column 5: names itself",
            "./shop/charts/bar/Chart.yaml:9:5: dependencies[2].depends-on: names itself",
        ),
        ("values.yaml[0]", "is odd", "./shop/values.yaml: [0]: is odd"),
        ("values.schema.json.type", "is odd", "./shop/values.schema.json: type: is odd"),
        ("charts/a-1.tgz/values.yaml.b", "is odd", "./shop/charts/a-1.tgz/values.yaml: b: is odd"),
        ("charts/bar/ext/lua/init.lua:9", "failed", "./shop/charts/bar/ext/lua/init.lua:9: failed"),
        ("charts/bar/crds/", "is refused", "./shop/charts/bar/crds/: is refused"),
        ("web.replicas", "is no number", "./shop: web.replicas: is no number"),
        ("", "has no files", "./shop: has no files"),
    ],
)
def test_the_place_comes_first(field: str, description: str, told: str) -> None:
    assert place.describe(Violation(field, description), "./shop/") == told
