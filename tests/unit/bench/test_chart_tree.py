"""Charts of benchmarks are read as they are meant, and their critical path has what waits for what, and no more."""

import pytest

from bench.chart import thousand, tree
from bench.chart.tree import OWN, Tree
from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.file import archive
from tinkwell.core.release.chart.file import chart as charts

SHOP = Tree(
    {"r": {}},
    {
        "a": Tree({"r": {}, "s": {}}),
        "b": Tree({"r": {}}, {"in": Tree({"r": {}})}, {OWN: ["in"]}),
        "c": Tree({"r": {}}),
        "free": Tree({"r": {}}),
    },
    {"b": ["a"], OWN: ["c"]},
)


@pytest.mark.parametrize(
    ("path", "seconds"),
    [
        # After a there are those in b, and then the chart's own.
        ("shop.a:s", 13),
        ("shop.b.in:r", 13),
        ("shop:r", 13),
        # Not after a, but before the chart's own.
        ("shop.c:r", 11),
        # Beside all of it.
        ("shop.free:r", 10),
    ],
)
def test_the_critical_path_leads_through_what_takes_long(path: str, seconds: float) -> None:
    each = dict.fromkeys(SHOP.paths("shop"), 1.0)
    assert tree.longest("shop", SHOP, each) == 4
    assert tree.longest("shop", SHOP, each | {path: 10.0}) == seconds


def test_a_packed_chart_has_the_order_that_it_was_made_with() -> None:
    root = process.process(charts.load(archive.unpack(tree.pack("shop", SHOP))), {})
    paths = [unit.path for unit in process.units(root)]
    assert paths == ["shop", "shop.a", "shop.b", "shop.b.in", "shop.c", "shop.free"]
    assert {(edge.before, edge.after) for edge in root.sequence.edges} == {("a", "b"), ("c", "shop")}


def test_the_large_chart_has_as_many_subcharts_as_it_says_in_layers() -> None:
    root = process.process(charts.load(archive.unpack(thousand.large())), {})
    assert len(root.children) == thousand.COUNT
    assert {len(batch) for batch in root.sequence.batches[:-1]} == {thousand.COUNT // 10}
