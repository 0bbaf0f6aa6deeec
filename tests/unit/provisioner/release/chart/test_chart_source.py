"""The charts of an operation, from what the server sends."""

import base64

import pytest
from unit.provisioner.release.chart.releasing import SHOP, charts, files

from tinkwell.core import errors
from tinkwell.core.release.chart.file import archive
from tinkwell.provisioner.release.expression.naming import MAX_FILE_BYTES, FileTexts
from tinkwell.provisioner.release.prepare import chart_source


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_an_archive_in_base64_is_a_chart() -> None:
    chart = chart_source.read(encoded(archive.pack("shop", files(SHOP))))
    assert [chart.metadata.name, *chart.charts] == ["shop", "site", "store"]


@pytest.mark.parametrize("text", ["%", "YQ", encoded(b"no archive"), ""])
def test_what_is_no_archive_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidField):
        chart_source.read(text)


def test_files_are_found_by_the_path_of_their_chart_without_any_values() -> None:
    given = {
        "Chart.yaml": "apiVersion: v2\nname: top\nversion: 0.1.0\ndependencies: [{name: a, alias: b, condition: no}]\n",
        "files/x": "top",
        "charts/a/Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\n",
        "charts/a/files/x": "a",
        "charts/a/charts/deep/Chart.yaml": "apiVersion: v2\nname: deep\nversion: 0.1.0\n",
        "charts/a/charts/deep/files/x": "deep",
    }
    chart = chart_source.read(encoded(archive.pack("top", files(given))))
    found = {path: chart_source.files_at(chart, path) for path in ("top", "top.b", "top.b.deep", "top.a", "top.b.c.d")}
    assert found == {
        "top": {"x": b"top"},
        "top.b": {"x": b"a"},
        "top.b.deep": {"x": b"deep"},
        "top.a": {},
        "top.b.c.d": {},
    }


def test_files_of_the_charts_of_a_release_are_found_by_their_paths() -> None:
    found = charts(SHOP | {"charts/site/files/sub/a": "A"})
    assert (found.files("shop"), found.files("shop.site")) == ({}, {"sub/a": b"A"})


def test_of_files_only_texts_of_up_to_1_mib_are_known_to_expressions() -> None:
    found = FileTexts.of(
        {"a": "é".encode(), "b": b"\xff", "c": b"x" * MAX_FILE_BYTES, "d": b"x" * (MAX_FILE_BYTES + 1)}
    )
    assert [*found.texts] == ["a", "c"]
    assert found.refused == {
        "b": "is no text in UTF-8",
        "d": "has 1,048,577 bytes; at most 1,048,576 are allowed in expressions",
    }
