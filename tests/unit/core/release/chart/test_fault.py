"""Where what is wrong with a chart stands: which file, which line."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.fault import ChartFaulty
from tinkwell.core.release.chart.file import chart
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.value.document import JsonObject

ROOT = """\
apiVersion: v2
name: foo
version: 1.0.0
annotations:
  helm.sh/depends-on/subcharts: ["bar", "nowhere"]
dependencies:
  - name: bar
    version: ">=2"
  - name: cache
    condition: cache.enabled
  - name: app
    depends-on:
      - cache
      - gone
"""
BAR = """\
apiVersion: v2
name: bar
version: 2.0.0
dependencies: [{name: a, depends-on: [b]},
               {name: b, depends-on: [a]}]
"""


def described(name: str) -> bytes:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n".encode()


def loaded(root: str = ROOT, *, values: str = "", bar_values: str = "") -> Chart:
    files = {
        "Chart.yaml": root.encode(),
        "values.yaml": values.encode(),
        "charts/bar/Chart.yaml": BAR.encode(),
        "charts/bar/values.yaml": bar_values.encode(),
        "charts/bar/charts/a/Chart.yaml": described("a"),
        "charts/bar/charts/b/Chart.yaml": described("b"),
        "charts/cache/Chart.yaml": described("cache"),
        "charts/app/Chart.yaml": described("app"),
    }
    return chart.load(files)


def violations(found: Chart, values: JsonObject, *, strict: bool = False) -> list[str]:
    with pytest.raises(errors.InvalidField) as refusal:
        process.process(found, values, strict=strict)
    return [f"{violation.field}: {violation.description}" for violation in refusal.value.violations]


def test_all_that_is_wrong_is_told_at_once_with_file_key_and_line() -> None:
    assert violations(loaded(), {"cache": {"enabled": False}}, strict=True) == [
        (
            "charts/bar/Chart.yaml.dependencies[0].depends-on: line 4, column 26: "
            "subcharts of foo.bar wait for each other in a loop: a → b → a "
            "(a waits for b by charts/bar/Chart.yaml dependencies[0].depends-on; "
            "b waits for a by charts/bar/Chart.yaml dependencies[1].depends-on)"
        ),
        (
            "Chart.yaml.dependencies[2].depends-on: line 12, column 5: app waits for cache, which is disabled: "
            "condition cache.enabled is false; take it out"
        ),
        (
            'Chart.yaml.dependencies[2].depends-on: line 12, column 5: app waits for "gone", '
            "which is not among the dependencies; known are app, bar, cache"
        ),
        (
            'Chart.yaml.annotations["helm.sh/depends-on/subcharts"]: line 5, column 3: foo waits for "nowhere", '
            "which is not among the dependencies; known are app, bar, cache"
        ),
    ]


def test_a_value_that_is_wrong_is_told_with_the_line_of_its_chart() -> None:
    found = loaded(values="replicas: 1\ncache: small\nbar: {}\n", bar_values="\n\na: [1]\n")
    chart_faults = [violation for violation in violations(found, {}) if "values.yaml" in violation]
    assert chart_faults == [
        (
            "charts/bar/values.yaml.a: line 3, column 1: is a list, and a is a subchart of foo.bar; "
            "write an object with the values of the subchart"
        ),
        (
            "values.yaml.cache: line 2, column 1: is a string, and cache is a subchart of foo; "
            "write an object with the values of the subchart"
        ),
    ]
    by_user = [violation for violation in violations(found, {"cache": 1, "yaml": 1}) if "is a number" in violation]
    assert by_user == [
        "values.cache: is a number, and cache is a subchart of foo; write an object with the values of the subchart"
    ]


def test_a_chart_under_many_names_is_wrong_once_and_no_more_than_twenty_faults_are_told() -> None:
    many = "".join(f"  - {{name: bar, alias: bar{number}}}\n" for number in range(30))
    with pytest.raises(ChartFaulty) as refusal:
        process.process(loaded(ROOT.partition("annotations")[0] + f"dependencies:\n{many}"), {})
    assert [fault.chart_path for fault in refusal.value.faults] == ["foo.bar0"]
    unknown = "".join(f"  - {{name: cache, alias: c{number}, depends-on: [x{number}]}}\n" for number in range(30))
    with pytest.raises(ChartFaulty) as refusal:
        process.process(loaded(ROOT.partition("annotations")[0] + f"dependencies:\n{unknown}"), {})
    assert len(refusal.value.violations) == 20
