"""Loading the files of a chart: what they become, what is kept for later, and what is refused."""

import decimal
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive, chart
from tinkwell.core.release.chart.file.chart import Chart
from tinkwell.core.value import document


def described(name: str, rest: str = "") -> bytes:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n{rest}".encode()


def files(name: str = "foo", more: Mapping[str, str | bytes] = MappingProxyType({})) -> dict[str, bytes]:
    return {"Chart.yaml": described(name)} | at(more)


def at(more: Mapping[str, str | bytes], folder: str = "") -> dict[str, bytes]:
    return {
        folder + path: content if isinstance(content, bytes) else content.encode() for path, content in more.items()
    }


def nested(level: int) -> dict[str, bytes]:
    """Make a chart with so many levels, itself included; every second one is an archive."""
    found = files(f"level{level}")
    if level > 1:
        inner = nested(level - 1)
        if level % 2:
            found["charts/a.tgz"] = archive.pack("a", inner)
        else:
            found |= at(inner, "charts/a/")
    return found


def refused(given: dict[str, bytes]) -> list[str]:
    with pytest.raises(errors.ChartInvalid) as caught:
        chart.load(given)
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def refusals(given: dict[str, bytes]) -> list[str]:
    found = chart.load(given)
    with pytest.raises(errors.ChartInvalid) as caught:
        chart.check_usable(chart.every(found))
    return [f"{violation.field}: {violation.description}" for violation in caught.value.violations]


def test_a_chart_has_its_parts_by_the_places_of_its_files() -> None:
    found = chart.load(
        files(
            more={
                "values.yaml": "a: 1.10\nb: {c: null}\n",
                "values.schema.json": '{"type": "object"}',
                "templates/web.yaml": "resources: {}",
                "templates/deep/db.yml": "resources: {{ .Values.x }}",
                "templates/NOTES.txt": "installed\n",
                "files/config/a.conf": b"\xff\x00",
                "ext/lua/events.lua": "-- ü",
                "ext/lua/lib/x.lua": "",
                "README.md": b"\xff",
                "LICENSE": "",
                "Chart.lock": "",
                ".helmignore": "",
                "ci/values.yaml": ": :",
            }
        )
    )
    assert (found.metadata.name, found.folder, found.warnings, found.refusals) == ("foo", "", (), ())
    assert found.metadata_text == described("foo").decode()
    assert found.values == {"a": decimal.Decimal("1.10"), "b": {"c": None}}
    assert found.values_text == "a: 1.10\nb: {c: null}\n"
    assert found.schema == {"type": "object"}
    assert found.templates == {
        "templates/deep/db.yml": "resources: {{ .Values.x }}",
        "templates/web.yaml": "resources: {}",
    }
    assert found.notes == "installed\n"
    assert found.files == {"config/a.conf": b"\xff\x00"}
    assert found.lua == {"events.lua": "-- ü", "lib/x.lua": ""}


def test_a_chart_needs_nothing_but_its_metadata() -> None:
    found = chart.load(files())
    assert (found.values, found.schema, found.templates, found.notes, found.charts) == ({}, None, {}, "", {})


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "\ufeffa: 1"])
def test_values_may_be_empty(text: str) -> None:
    assert chart.load(files(more={"values.yaml": text})).values in ({}, {"a": 1})


def vendored() -> Chart:
    return chart.load(
        files()
        | at(files("bar", {"values.yaml": "a: 1"}), "charts/bar/")
        | {"charts/baz-1.0.0.tgz": archive.pack("baz", files("baz", {"charts/deep/Chart.yaml": described("deep")}))}
        | at({"charts/.keep": "", "charts/_old/x": "", "charts/_old.tgz": "", "charts/README.md": ""})
    )


def test_vendored_charts_are_known_by_their_folder_or_archive() -> None:
    found = vendored()
    assert {entry: child.metadata.name for entry, child in found.charts.items()} == {
        "bar": "bar",
        "baz-1.0.0.tgz": "baz",
    }
    assert found.charts["bar"].values == {"a": 1}
    assert [child.folder for child in chart.every(found)] == [
        "",
        "charts/bar/",
        "charts/baz-1.0.0.tgz/",
        "charts/baz-1.0.0.tgz/charts/deep/",
    ]
    assert found.charts["bar"].path("values.yaml") == "charts/bar/values.yaml"


def test_what_could_be_taken_for_a_part_of_the_chart_is_warned_of() -> None:
    assert vendored().warnings == ("charts/README.md: is not read; charts are folders, or archives that end in .tgz",)
    found = chart.load(
        {"Chart.yaml": described("foo", "colour: red\n")}
        | at({"templates/a.json": "", "templates/x/NOTES.txt": "", "ext/lua/a.txt": ""})
    )
    assert [warning.partition(";")[0] for warning in found.warnings] == [
        "Chart.yaml: there is no field colour",
        "ext/lua/a.txt: is not read",
        "templates/a.json: is not read",
        "templates/x/NOTES.txt: is not read",
    ]


def test_what_tinkwell_does_not_carry_out_is_refused_only_where_it_would_have_to() -> None:
    given = files(
        more={"templates/_helpers.tpl": "", "templates/x/_a.yaml": "", "crds/a.yaml": "", "crds/b.yaml": ""}
    ) | at({"Chart.yaml": described("bar", "type: library"), "templates/_b.tpl": ""}, "charts/bar/")
    assert chart.load(given).templates == {}
    definitions = (
        "holds definitions of Go templates, which Tinkwell does not know; write out what they give, and remove it"
    )
    assert refusals(given) == [
        f"templates/_helpers.tpl: {definitions}",
        f"templates/x/_a.yaml: {definitions}",
        "crds/: holds definitions for Kubernetes; Tinkwell runs resource images: remove it, or let an image apply them",
        f"charts/bar/templates/_b.tpl: {definitions}",
    ]
    root = chart.load(given)
    assert [refusal.field for refusal in root.charts["bar"].refusals] == ["charts/bar/templates/_b.tpl"]
    chart.check_usable([chart.load(files())])


def test_a_library_is_refused_as_the_root() -> None:
    [found] = refusals({"Chart.yaml": described("foo", "type: library")})
    assert found == (
        "Chart.yaml.type: library is a chart with definitions for others, which cannot be installed; "
        "make it a dependency of one"
    )


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"requirements.yaml": ""}, "requirements.yaml: is of Helm 2; write its entries as dependencies in Chart.yaml"),
        ({"requirements.lock": ""}, "requirements.lock: is of Helm 2; write its entries as dependencies in Chart.yaml"),
        ({"Chart.yaml": b"\xff"}, "Chart.yaml: must be UTF-8; the byte at place 0 is not"),
        ({"values.yaml": "- a"}, "values.yaml: must be an object with the defaults of the values, and not a list"),
        ({"values.yaml": "a: 1\n---\nb: 2"}, "values.yaml: has 2 documents; write all defaults into one"),
        ({"values.yaml": "a: 1\na: 2"}, "values.yaml: line 2, column 1: the key a occurs twice"),
        ({"values.yaml": "a: {{ x }}"}, "values.yaml: line 1, column 5: a key must be text"),
        ({"values.yaml": "a: .nan"}, "values.yaml: line 1, column 4: .nan is not a number of JSON"),
        ({"values.yaml": 'a: "\\0"'}, 'values.yaml.a: line 1, column 1: the text "\\u0000" holds the NUL character'),
        ({"values.yaml": b"a: \xe4"}, "values.yaml: must be UTF-8; the byte at place 3 is not"),
        (
            {"values.yaml": "a: " + "[" * 64 + "]" * 64},
            "values.yaml: line 1, column 67: is nested deeper than 64 levels",
        ),
        ({"values.yaml": f"a: {'x' * 2**20}"}, "values.yaml: has 1,048,579 bytes; at most 1,048,576 are allowed"),
        (
            {"values.yaml": f"a: &a {'x' * 2**18}\nb: [{', '.join(['*a'] * 5)}]"},
            "values.yaml: line 1, column 1: has 1,572,",
        ),
        ({"values.schema.json": "{"}, "values.schema.json: line 1, column 2: Expecting property name"),
        ({"values.schema.json": "[]"}, "values.schema.json: must be a JSON object, such as {}, and not a list"),
        ({"templates/a.yaml": b"\xff"}, "templates/a.yaml: must be UTF-8; the byte at place 0 is not"),
        ({"templates/NOTES.txt": b"\xff"}, "templates/NOTES.txt: must be UTF-8; the byte at place 0 is not"),
        ({"ext/lua/a.lua": b"\xff"}, "ext/lua/a.lua: must be UTF-8; the byte at place 0 is not"),
        (
            {"files/a": b"x" * 2**22, "files/b": b"x" * (2**22 + 1)},
            "files/: has 8,388,609 bytes in all; at most 8,388,608 are allowed, since each call gets them",
        ),
        ({"charts/bar/values.yaml": ""}, "charts/bar/Chart.yaml: is missing; a chart needs one, with apiVersion: v2"),
        ({"charts/bar/Chart.yaml": "name: bar"}, "charts/bar/Chart.yaml.apiVersion: line 1, column 1: must be given"),
        (
            {"charts/bar.tgz": "no gzip"},
            "charts/bar.tgz: is not gzip, or is broken; pack it with `tinkwell chart package`",
        ),
    ],
)
def test_wrong_files_are_refused_with_what_to_do(more: dict[str, str | bytes], expected: str) -> None:
    assert refused(files() | at(more))[0].startswith(expected)


def test_a_root_needs_a_name_that_a_release_can_have_for_it_and_others_an_alias() -> None:
    expected = (
        'Chart.yaml.name: line 2, column 1: "f.o" is not a name that a release can have for its chart; begin with'
    )
    assert refused(files("f.o"))[0].startswith(expected)
    assert chart.load(files() | at({"Chart.yaml": described("b.r")}, "charts/b/")).charts["b"].metadata.name == "b.r"


def test_a_chart_without_metadata_is_none() -> None:
    assert refused({"values.yaml": b""}) == [
        "Chart.yaml: is missing; a chart needs one, with apiVersion: v2, a name and a version"
    ]


def test_all_mistakes_of_all_charts_are_told_at_once() -> None:
    bad: dict[str, str | bytes] = {"Chart.yaml": described("bar"), "values.yaml": "[", "values.schema.json": "x"}
    found = refused(files(more={"values.yaml": "x"}) | at(bad, "charts/bar/"))
    assert [line.partition(":")[0] for line in found] == [
        "values.yaml",
        "charts/bar/values.yaml",
        "charts/bar/values.schema.json",
    ]


def test_mistakes_beyond_the_first_twenty_are_left_out() -> None:
    found = refused(files() | {f"charts/c{index}/Chart.yaml": b"" for index in range(30)})
    assert len(found) == document.MAX_VIOLATIONS


def test_charts_are_nested_ten_levels_deep_and_no_deeper() -> None:
    assert len(list(chart.every(chart.load(nested(10))))) == 10
    [found] = refused(nested(11))
    assert found.endswith("charts/a.tgz/charts/a: is nested deeper than 10 levels; put it into a chart further up")


def test_a_chart_has_at_most_two_thousand_subcharts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chart.MAX_SUBCHARTS == 2_000
    monkeypatch.setattr(chart, "MAX_SUBCHARTS", 20)
    many = files() | {f"charts/c{index}/Chart.yaml": described(f"c{index}") for index in range(20)}
    assert len(chart.load(many).charts) == 20
    [found] = refused(many | {"charts/zz/Chart.yaml": described("zz")})
    assert found == "charts/zz/Chart.yaml: is one chart too many; at most 20 subcharts are allowed"


def test_the_yaml_of_all_charts_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chart.MAX_YAML_BYTES == 8 * 2**20
    given = files("foo", {"values.yaml": "a: 1"}) | at(files("bar"), "charts/bar/") | at(files("baz"), "charts/baz/")
    whole = sum(map(len, given.values()))
    monkeypatch.setattr(chart, "MAX_YAML_BYTES", whole)
    assert len(chart.load(given).charts) == 2
    monkeypatch.setattr(chart, "MAX_YAML_BYTES", whole - 1)
    [found] = refused(given | at(files("bax"), "charts/zz/"))
    assert found == (
        f"charts/baz/Chart.yaml: with it, Chart.yaml and values.yaml of all charts have more than {whole - 1} bytes; "
        "leave charts out"
    )


def test_archives_within_archives_share_one_allowance() -> None:
    large = archive.pack("a", files("a", {"x": bytes(30 * 2**20)}))
    found = refused(files() | {f"charts/{name}.tgz": large for name in "abc"})
    assert found == [
        "charts/c.tgz: unpacks to more than 67,108,864 bytes; leave large files out of the chart",
    ]


def test_a_mistake_that_is_found_later_is_told_with_its_file_and_line() -> None:
    child = vendored().charts["baz-1.0.0.tgz"].charts["deep"]
    located = child.located(errors.InvalidField.of("version", "is outside"))
    assert str(located) == "charts/baz-1.0.0.tgz/charts/deep/Chart.yaml.version: line 3, column 1: is outside"
    assert isinstance(located, errors.ChartInvalid)
