"""Chart.yaml: Helm's fields and ours, what only warns, and what is refused in which line."""

import pytest

from tinkwell.core import errors
from tinkwell.core.release.chart.file import metadata
from tinkwell.core.release.chart.file.metadata import Dependency, Metadata

HEAD = "apiVersion: v2\nname: foo\nversion: 1.0.0\n"
SEED = """\
apiVersion: v2
name: foo
version: 1.0.0
annotations:
  helm.sh/depends-on/subcharts: ["bar", "rabbitmq"]
dependencies:
  - name: nginx
  - name: rabbitmq
  - name: bar
    depends-on: ["nginx", "rabbitmq"]
  - name: orphaned
"""


def read(text: str) -> Metadata:
    return metadata.read_metadata(text, file="Chart.yaml")[0]


def warned(text: str) -> tuple[str, ...]:
    return metadata.read_metadata(text, file="Chart.yaml")[1]


def refused(text: str) -> list[str]:
    with pytest.raises(errors.ChartInvalid) as caught:
        read(text)
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def test_the_worked_example_of_sequencing_is_read_as_it_is_written() -> None:
    assert read(SEED) == Metadata(
        api_version="v2",
        name="foo",
        version="1.0.0",
        depends_on=("bar", "rabbitmq"),
        dependencies=(
            Dependency(name="nginx"),
            Dependency(name="rabbitmq"),
            Dependency(name="bar", depends_on=("nginx", "rabbitmq")),
            Dependency(name="orphaned"),
        ),
    )


FULL = """\
apiVersion: v3
name: shop.example
version: v1.2.3-rc.1+build.5
type: library
appVersion: 1.10
kubeVersion: ">=1.20"
description: |
  A shop,
  on two lines.
keywords: [shop, web]
home: https://shop.example
sources: [https://git.shop.example]
icon: https://shop.example/icon.svg
maintainers:
  - {name: Ada, email: ada@shop.example}
deprecated: true
annotations: {category: web, licensed: true, level: 3, nothing: }
dependencies:
  - name: postgres
    version: ">= 12.1, <14 || ~15.2"
    repository: https://charts.example
    condition: db.enabled,global.db
    tags: [back-end]
    alias: db
    import-values: [data, {child: exports.port, parent: port}]
    depends-on: [cache]
    inputs: {url: "{{ subcharts.cache.outputs.url }}", n: 1}
    enabled: true
"""


def test_all_fields_are_kept_and_texts_may_stand_without_quotes() -> None:
    found = read(FULL)
    assert (found.version, found.app_version, found.kube_version) == ("v1.2.3-rc.1+build.5", "1.10", ">=1.20")
    assert found.is_library
    assert found.annotations == {"category": "web", "licensed": "true", "level": "3"}
    assert found.maintainers == ({"name": "Ada", "email": "ada@shop.example"},)
    [dependency] = found.dependencies
    assert dependency == Dependency(
        name="postgres",
        version=">= 12.1, <14 || ~15.2",
        repository="https://charts.example",
        condition="db.enabled,global.db",
        tags=("back-end",),
        alias="db",
        import_values=("data", ("exports.port", "port")),
        depends_on=("cache",),
        inputs={"url": "{{ subcharts.cache.outputs.url }}", "n": 1},
    )
    assert dependency.effective_name == "db"
    assert warned(FULL) == ()


def test_the_json_form_has_the_fields_of_the_file_and_its_sequencing_as_a_list() -> None:
    text = HEAD + "appVersion: 1.10\nannotations:\n  a: b\n  helm.sh/depends-on/subcharts: '[\"x\"]'\n"
    assert read(text).as_json() == {
        "apiVersion": "v2",
        "name": "foo",
        "version": "1.0.0",
        "type": "application",
        "appVersion": "1.10",
        "annotations": {"a": "b", "helm.sh/depends-on/subcharts": ["x"]},
    }
    assert read(FULL).as_json()["dependencies"] == [
        {
            "name": "postgres",
            "version": ">= 12.1, <14 || ~15.2",
            "repository": "https://charts.example",
            "condition": "db.enabled,global.db",
            "tags": ["back-end"],
            "alias": "db",
            "import-values": ["data", {"child": "exports.port", "parent": "port"}],
            "depends-on": ["cache"],
            "inputs": {"url": "{{ subcharts.cache.outputs.url }}", "n": 1},
        }
    ]


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ('["a", "b"]', ("a", "b")),
        ('\'["a", "b"]\'', ("a", "b")),
        ("\n    - a\n    - b\n    - a", ("a", "b")),
        ("[]", ()),
        ("'[]'", ()),
        ("", ()),
    ],
)
def test_the_annotation_is_a_list_or_the_text_of_one(annotation: str, names: tuple[str, ...]) -> None:
    assert read(f"{HEAD}annotations:\n  helm.sh/depends-on/subcharts: {annotation}\n").depends_on == names


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        (
            "'[\"api\",'",
            'must be a list of names, or the text of a JSON list such as ["a"]: line 1, column 8: Expecting',
        ),
        ('\'{"nginx": ["postgres"]}\'', "must be a list of names of subcharts, and not an object"),
        ("{nginx: [postgres]}", "must be a list of names of subcharts, and not an object"),
        ("bar", 'must be a list of names, or the text of a JSON list such as ["a"]: line 1, column 1: Expecting'),
        ("[1]", "must be a list of names of subcharts, and not a list with an item of another type"),
        ("['']", "must be a list of names of subcharts, and not a list with an item of another type"),
        ("true", "must be a list of names of subcharts, and not true"),
    ],
)
def test_any_other_annotation_is_refused(annotation: str, sentence: str) -> None:
    [found] = refused(f"{HEAD}annotations:\n  helm.sh/depends-on/subcharts: {annotation}\n")
    assert found.startswith(f'Chart.yaml.annotations["helm.sh/depends-on/subcharts"]: line 5, column 3: {sentence}')


def test_unknown_fields_warn_with_the_nearest_name() -> None:
    text = HEAD + "descripton: x\nzzz: 1\ndependencies: [{name: a, depends_on: [b]}, {name: b}]\n"
    first, *rest = sorted(warned(text))
    assert first == "Chart.yaml: there is no field dependencies[0].depends_on; did you mean depends-on?"
    assert rest[0] == "Chart.yaml: there is no field descripton; did you mean description?"
    assert rest[1].startswith("Chart.yaml: there is no field zzz; known are annotations,")


def test_what_has_no_value_counts_as_left_out() -> None:
    assert read(HEAD + "description:\nannotations:\ndependencies:\nkeywords: ~\n") == read(HEAD)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            HEAD.replace("v2", "v1"),
            "apiVersion: line 1, column 1: v1 is that of Helm 2; write v2, and the entries of requirements.yaml ",
        ),
        (HEAD.replace("v2", "v4"), 'apiVersion: line 1, column 1: "v4" is not known; write v2 or v3'),
        (HEAD.replace("foo", "a/b"), 'name: line 2, column 1: "a/b" cannot be the name of a folder; leave out / and '),
        (
            HEAD.replace("1.0.0", "1.0"),
            'version: line 3, column 1: "1.0" is not a version of SemVer 2; write three num',
        ),
        (HEAD.removeprefix("apiVersion: v2"), "apiVersion: line 2, column 1: must be given"),
        (HEAD + "type: app", 'type: line 4, column 1: "app" is not known; write application or library'),
        (HEAD + "appVersion: [1]", "appVersion: line 4, column 1: must be text, and not a list"),
        (
            HEAD + "annotations: {a: [x]}",
            "annotations.a: line 4, column 15: must be text, and not a list; put quotes around it",
        ),
        (HEAD + "deprecated: 'yes'", "deprecated: line 4, column 1: must be true or false, and not the text"),
        (HEAD + "dependencies: {a: b}", "dependencies: line 4, column 1: must be a list, and not an object"),
    ],
)
def test_wrong_fields_are_refused_with_their_line(text: str, expected: str) -> None:
    [found] = refused(text)
    assert found.startswith(f"Chart.yaml.{expected}")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("{}", "dependencies[0].name: line 5, column 5: must be given"),
        (
            "{name: a.b}",
            'dependencies[0].name: line 5, column 6: "a.b" is not a name that a chart can have in a release',
        ),
        (
            "{name: a, alias: a.b}",
            'dependencies[0].alias: line 5, column 15: "a.b" is not a name that a chart can have',
        ),
        (
            "{name: a, version: '>=x.1'}",
            'dependencies[0].version: line 5, column 15: ">=x.1" is not a range of versions',
        ),
        ("{name: a, depends-on: b}", "dependencies[0].depends-on: line 5, column 15: must be a list"),
        (
            "{name: a, depends-on: [1]}",
            "dependencies[0].depends-on[0]: line 5, column 28: must be text, and not a number",
        ),
        (
            "{name: a, import-values: [{child: x}]}",
            "dependencies[0].import-values[0]: line 5, column 31: must be a name below exports, or {child: a.b,",
        ),
        ("{name: a, inputs: [x]}", "dependencies[0].inputs: line 5, column 15: must be an object"),
        ("{name: a, condition: true}", "dependencies[0].condition: line 5, column 15: must be text, and not true"),
    ],
)
def test_wrong_entries_of_dependencies_are_refused_with_their_line(entry: str, expected: str) -> None:
    [found] = refused(f"{HEAD}dependencies:\n  - {entry}\n")
    assert found.startswith(f"Chart.yaml.{expected}")


def test_a_name_that_is_no_name_of_a_release_needs_an_alias() -> None:
    assert read(f"{HEAD}dependencies: [{{name: a.b, alias: b}}]").dependencies[0].effective_name == "b"


@pytest.mark.parametrize(
    "entries",
    ["[{name: a}, {name: a}]", "[{name: a}, {name: b, alias: a}]", "[{name: x, alias: a}, {name: y, alias: a}]"],
)
def test_two_entries_of_one_effective_name_are_refused(entries: str) -> None:
    [found] = refused(f"{HEAD}dependencies: {entries}")
    assert found.startswith("Chart.yaml.dependencies[1]: line 4, column ")
    assert found.endswith('"a" is also the name of dependencies[0]; give one of them another alias')


def test_one_chart_may_be_there_by_several_aliases() -> None:
    found = read(f"{HEAD}dependencies: [{{name: a}}, {{name: a, alias: b}}, {{name: b, alias: c}}]")
    assert [dependency.effective_name for dependency in found.dependencies] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Chart.yaml: has 0 documents; write one with apiVersion, name and version"),
        (f"{HEAD}---\n{HEAD}", "Chart.yaml: has 2 documents; write one with apiVersion, name and version"),
        ("name: [", "Chart.yaml: line 1, column 8: not YAML: "),
        (f"{HEAD}name: bar\n", "Chart.yaml: line 4, column 1: the key name occurs twice"),
        (f"{HEAD}description: {{{{ x }}}}\n", "Chart.yaml: line 4, column 15: a key must be text"),
        ("- a", "Chart.yaml: line 1, column 1: must be an object with apiVersion"),
        (f"{HEAD}home: \x07\n", "Chart.yaml: has the control character"),
        (f"{HEAD}annotations: {'[' * 70}{']' * 70}", "Chart.yaml: line 4, column 77: is nested deeper than 64 levels"),
        (f"{HEAD}a: &a [x]\nkeywords: [{', '.join(['*a'] * 101)}]", "Chart.yaml: line 1, column 1: has 101 aliases"),
        (f"{HEAD}description: {'x' * 2**20}", "Chart.yaml: has 1,048,629 bytes; at most 1,048,576 are allowed"),
    ],
)
def test_what_is_no_document_is_refused_as_a_whole(text: str, expected: str) -> None:
    [found] = refused(text)
    assert found.startswith(expected)


def test_all_mistakes_are_told_at_once_under_the_path_of_the_file() -> None:
    with pytest.raises(errors.ChartInvalid) as caught:
        metadata.read_metadata("apiVersion: v9\nname: a\nversion: x\n", file="charts/bar/Chart.yaml")
    assert [violation.field for violation in caught.value.violations] == [
        "charts/bar/Chart.yaml.apiVersion",
        "charts/bar/Chart.yaml.version",
    ]
