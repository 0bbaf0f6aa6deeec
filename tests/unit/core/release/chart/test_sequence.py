"""The order of the subcharts of a chart, by the tables of the notes on Helm."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.core.release_chart import batches, chart, depends, family, off

from tinkwell.core.release.chart import process
from tinkwell.core.release.chart.fault import ChartFaulty
from tinkwell.core.release.chart.sequence import Edge

ORDERS: list[tuple[str, tuple[str, ...], tuple[str, ...], list[list[str]]]] = [
    ("S1", (), (), [["parent"]]),
    ("S2", ("nginx", "rabbitmq", "postgres"), (), [["nginx", "parent", "postgres", "rabbitmq"]]),
    (
        "S3",
        ("postgres", "rabbitmq(postgres)", "app(rabbitmq)"),
        (),
        [["postgres"], ["rabbitmq"], ["app"], ["parent"]],
    ),
    (
        "S4",
        ("nginx", "rabbitmq", "bar(nginx,rabbitmq)"),
        ("bar", "rabbitmq"),
        [["nginx", "rabbitmq"], ["bar"], ["parent"]],
    ),
    (
        "S5",
        ("nginx", "rabbitmq", "bar(nginx,rabbitmq)", "orphaned"),
        ("bar", "rabbitmq"),
        [["nginx", "rabbitmq"], ["bar"], ["orphaned", "parent"]],
    ),
    ("S6", ("database", "api(database)", "worker"), ("worker",), [["database", "worker"], ["api"], ["parent"]]),
    ("S7", ("postgres", "nginx"), ("nginx",), [["nginx"], ["parent", "postgres"]]),
    ("S8", ("postgres as primary-db", "app(postgres)"), (), [["primary-db"], ["app"], ["parent"]]),
    ("S9", ("postgres as primary-db", "app(primary-db)"), (), [["primary-db"], ["app"], ["parent"]]),
    ("S11", ("postgres as db1", "postgres as db2", "app"), (), [["app", "db1", "db2", "parent"]]),
    ("S12", ("svc", "svc as svc2", "app(svc2)"), (), [["svc2"], ["app"], ["parent", "svc"]]),
    ("S14", ("postgres as primary-db", "app"), ("postgres", "app"), [["app", "primary-db"], ["parent"]]),
    ("S26", ("a", "b(a,a)"), (), [["a"], ["b"], ["parent"]]),
    ("S30", ("a", "b(a)"), ("a",), [["a"], ["b"], ["parent"]]),
    ("one alone", ("a",), (), [["a", "parent"]]),
    ("a diamond", ("d(b,c)", "c(a)", "b(a)", "a"), (), [["a"], ["b", "c"], ["d"], ["parent"]]),
    ("several roots", ("c(a,b)", "a", "b"), (), [["a", "b"], ["c"], ["parent"]]),
    ("apart from each other", ("b(a)", "a", "y(x)", "x"), (), [["a", "x"], ["b", "y"], ["parent"]]),
    ("by the longest way", ("a", "b(a)", "c(a,b)"), (), [["a"], ["b"], ["c"], ["parent"]]),
]


@pytest.mark.parametrize("entries, annotation, expected", [row[1:] for row in ORDERS], ids=[row[0] for row in ORDERS])
def test_subcharts_stand_in_batches(
    entries: tuple[str, ...], annotation: tuple[str, ...], expected: list[list[str]]
) -> None:
    unit = process.process(family("parent", *entries, annotation=annotation), {})
    assert batches(unit) == expected
    assert unit.sequence.warnings == ()


def test_s15_without_strictness_who_waits_for_a_disabled_one_does_not_wait() -> None:
    found = family("parent", "cache", "app(cache)", annotation=["cache"])
    unit = process.process(found, off("cache"))
    assert batches(unit) == [["app", "parent"]]
    assert unit.sequence.edges == ()
    assert unit.sequence.warnings == (
        (
            "Chart.yaml.dependencies[1].depends-on: app does not wait for cache, which is disabled: "
            "condition cache.enabled is false"
        ),
        (
            'Chart.yaml.annotations["helm.sh/depends-on/subcharts"]: parent does not wait for cache, which is '
            "disabled: condition cache.enabled is false"
        ),
    )


def test_a_disabled_one_says_nothing_of_those_that_it_waits_for() -> None:
    unit = process.process(family("parent", "cache", "app(cache)"), off("app", "cache"), strict=True)
    assert batches(unit) == [["parent"]]
    assert unit.sequence.warnings == ()


@pytest.mark.parametrize("strict", [False, True])
def test_s16_a_disabled_one_that_nobody_refers_to_is_not_there(strict: bool) -> None:
    unit = process.process(family("parent", "cache", "app"), off("cache"), strict=strict)
    assert batches(unit) == [["app", "parent"]]
    assert unit.sequence.warnings == ()


def test_s21_each_level_has_an_order_of_its_own() -> None:
    application = family("application", "cache", "worker(cache)")
    unit = process.process(family("parent", "database", "application(database)", vendored=[application]), {})
    assert batches(unit) == [["database"], ["application"], ["parent"]]
    assert batches(unit.children["application"]) == [["cache"], ["worker"], ["application"]]
    assert [each.path for each in process.units(unit)] == [
        "parent",
        "parent.database",
        "parent.application",
        "parent.application.cache",
        "parent.application.worker",
    ]


def test_s23_charts_within_each_other_have_one_batch_each() -> None:
    unit = process.process(family("parent", "child", vendored=[family("child", "grand")]), {})
    assert [batches(each) for each in process.units(unit)] == [[["child", "parent"]], [["child", "grand"]], [["grand"]]]


def test_s24_what_is_vendored_and_no_dependency_comes_last_with_a_warning() -> None:
    found = family("parent", "declared", vendored=[chart("vendored"), chart("declared")])
    unit = process.process(found, {})
    assert batches(unit) == [["declared", "parent", "vendored"]]
    assert unit.sequence.warnings == (
        "charts/vendored-1.0.0: no dependency of parent names it; it is installed last, together with parent",
    )
    with pytest.raises(ChartFaulty) as refusal:
        process.process(family("parent", "a(vendored)", vendored=[chart("vendored")]), {})
    assert "which is not among the dependencies; it is vendored, and needs an entry there" in str(refusal.value)


def test_s25_a_subchart_with_stages_of_its_own_is_one_of_its_batch() -> None:
    found = family("parent", "nginx", "rabbitmq", "bar(nginx,rabbitmq)", vendored=[family("nginx", "exporter")])
    unit = process.process(found, {})
    assert batches(unit) == [["nginx", "rabbitmq"], ["bar"], ["parent"]]
    assert batches(unit.children["nginx"]) == [["exporter", "nginx"]]


def test_s26_an_edge_that_is_named_in_several_ways_has_one_origin_for_each_place() -> None:
    unit = process.process(family("parent", "db as store", "app(db,store,db)", annotation=["app", "store"]), {})
    annotation = ("Chart.yaml annotations helm.sh/depends-on/subcharts",)
    assert unit.sequence.edges == (
        Edge("app", "parent", annotation),
        Edge("store", "app", ("Chart.yaml dependencies[1].depends-on",)),
        Edge("store", "parent", annotation),
    )
    assert unit.sequence.sequenced == ("store", "app")


def test_s28_a_condition_on_an_alias_counts() -> None:
    found = family("parent", "db as store", "app(store)")
    assert batches(process.process(found, off("store"))) == [["app", "parent"]]
    assert batches(process.process(found, off("db"))) == [["store"], ["app"], ["parent"]]


def test_s29_long_chains_and_wide_layers_come_out_the_same_each_time() -> None:
    names = [f"c{number:04}" for number in range(1_000)]
    chain = family("parent", names[0], *(f"{after}({before})" for before, after in itertools.pairwise(names)))
    unit = process.process(chain, {})
    assert batches(unit) == [*([name] for name in names), ["parent"]]
    wide = family("parent", *(f"{name}({names[0]})" for name in reversed(names[1:])), names[0])
    unit = process.process(wide, {})
    assert batches(unit) == [[names[0]], names[1:], ["parent"]]
    assert process.dag(process.process(wide, {})) == process.dag(unit)


_NAMES = [f"c{number}" for number in range(8)]


@given(
    st.dictionaries(st.sampled_from(_NAMES), st.sets(st.sampled_from(_NAMES))),
    st.sets(st.sampled_from(_NAMES)),
    st.sets(st.sampled_from(_NAMES)),
    st.permutations(_NAMES),
)
def test_every_edge_leads_to_a_later_batch_whatever_the_order_of_the_entries(
    before: dict[str, set[str]], annotation: set[str], disabled: set[str], names: list[str]
) -> None:
    waits = {name: {other for other in before.get(name, set()) if other < name} for name in names}
    entries = [f"{name}({','.join(sorted(waits[name]))})" for name in names]
    unit = process.process(family("parent", *entries, annotation=sorted(annotation)), off(*disabled))
    place = {name: number for number, batch in enumerate(unit.sequence.batches) for name in batch}
    wanted = {(other, name) for name in names for other in waits[name]} | {(name, "parent") for name in annotation}
    there = {pair for pair in wanted if not disabled & set(pair)}
    assert {(edge.before, edge.after) for edge in unit.sequence.edges} == there
    assert all(place[first] < place[then] for first, then in there)
    assert sorted(name for batch in unit.sequence.batches for name in batch) == sorted({*names, "parent"} - disabled)
    named = {name for pair in there for name in pair}
    assert {*unit.sequence.batches[-1]} == {*names, "parent"} - disabled - (named - {"parent"})
    # No layer is empty, and nobody could stand in an earlier one.
    for number, batch in enumerate(unit.sequence.batches[1:-1], start=1):
        assert all(any(place[other] == number - 1 for other in waits[name] - disabled) for name in batch)
    ordered = process.process(
        family("parent", *sorted(entries), annotation=sorted(annotation, reverse=True)), off(*disabled)
    )
    assert ordered.sequence.batches == unit.sequence.batches


def test_the_order_as_json_is_what_the_commands_print() -> None:
    application = family("application", "cache", "worker(cache)", annotation=["cache"])
    unit = process.process(family("parent", "application as app", "db", annotation=["db"], vendored=[application]), {})
    assert process.dag(unit) == {
        "chart": "parent",
        "path": "parent",
        "batches": [["db"], ["app", "parent"]],
        "edges": [
            {"from": "db", "to": "parent", "origins": ["Chart.yaml annotations helm.sh/depends-on/subcharts"]},
        ],
        "warnings": [],
        "children": {
            "app": {
                "chart": "application",
                "path": "parent.app",
                "batches": [["cache"], ["worker"], ["app"]],
                "edges": [
                    {
                        "from": "cache",
                        "to": "app",
                        "origins": ["charts/application-1.0.0/Chart.yaml annotations helm.sh/depends-on/subcharts"],
                    },
                    {
                        "from": "cache",
                        "to": "worker",
                        "origins": ["charts/application-1.0.0/Chart.yaml dependencies[1].depends-on"],
                    },
                ],
                "warnings": [],
                "children": {
                    name: {
                        "chart": name,
                        "path": f"parent.app.{name}",
                        "batches": [[name]],
                        "edges": [],
                        "warnings": [],
                        "children": {},
                    }
                    for name in ("cache", "worker")
                },
            },
            "db": {
                "chart": "db",
                "path": "parent.db",
                "batches": [["db"]],
                "edges": [],
                "warnings": [],
                "children": {},
            },
        },
    }


def test_an_entry_may_wait_under_the_alias_of_another_chart() -> None:
    found = chart(
        "parent",
        chart("a"),
        chart("b"),
        dependencies=[depends("a as b1"), depends("b as a1(b1)")],
    )
    assert batches(process.process(found, {})) == [["b1"], ["a1"], ["parent"]]
