"""What makes no order of subcharts: who is told about it, and where that stands."""

import re

import pytest
from unit.core.release_chart import batches, family, off

from tinkwell.core import errors
from tinkwell.core.release.chart import process, sequence
from tinkwell.core.release.chart.fault import ChartFaulty, FaultKind
from tinkwell.core.value.document import JsonObject

FAULTS: list[tuple[str, tuple[str, ...], tuple[str, ...], JsonObject, FaultKind, list[str]]] = [
    (
        "S10",
        ("postgres as db1", "postgres as db2", "app(postgres)"),
        (),
        {},
        FaultKind.AMBIGUOUS,
        [
            (
                'Chart.yaml.dependencies[2].depends-on: app waits for "postgres", which may be db1 or db2; '
                "use the alias of one"
            )
        ],
    ),
    (
        "S12",
        ("svc", "svc as svc2", "app(svc)"),
        (),
        {},
        FaultKind.AMBIGUOUS,
        ['Chart.yaml.dependencies[2].depends-on: app waits for "svc", which may be svc or svc2; use the alias of one'],
    ),
    (
        "S13",
        ("x as y", "y as x", "app(x)"),
        (),
        {},
        FaultKind.AMBIGUOUS,
        ['Chart.yaml.dependencies[2].depends-on: app waits for "x", which may be x or y; use the alias of one'],
    ),
    (
        "S15",
        ("cache", "app(cache)"),
        (),
        off("cache"),
        FaultKind.DISABLED,
        [
            (
                "Chart.yaml.dependencies[1].depends-on: app waits for cache, which is disabled: "
                "condition cache.enabled is false; take it out"
            )
        ],
    ),
    (
        "S17",
        ("app(missing)", "missin"),
        ("missing",),
        {},
        FaultKind.UNKNOWN,
        [
            (
                'Chart.yaml.dependencies[0].depends-on: app waits for "missing", which is not among the dependencies; '
                "did you mean missin?"
            ),
            (
                'Chart.yaml.annotations["helm.sh/depends-on/subcharts"]: parent waits for "missing", '
                "which is not among the dependencies; did you mean missin?"
            ),
        ],
    ),
    (
        "S18",
        ("a(b)", "b(c)", "c(a)", "d(a)"),
        ("a",),
        {},
        FaultKind.CYCLE,
        [
            (
                "Chart.yaml.dependencies[0].depends-on: subcharts of parent wait for each other in a loop: "
                "a → b → c → a (a waits for b by Chart.yaml dependencies[0].depends-on; "
                "b waits for c by Chart.yaml dependencies[1].depends-on; "
                "c waits for a by Chart.yaml dependencies[2].depends-on)"
            )
        ],
    ),
    (
        "S19",
        ("a(a)",),
        (),
        {},
        FaultKind.ITSELF,
        ['Chart.yaml.dependencies[0].depends-on: a waits for "a", which is the same; take it out'],
    ),
    (
        "by its other name",
        ("postgres as db(postgres)",),
        (),
        {},
        FaultKind.ITSELF,
        ['Chart.yaml.dependencies[0].depends-on: db waits for "postgres", which is the same; take it out'],
    ),
    (
        "the chart itself",
        ("a",),
        ("parent",),
        {},
        FaultKind.ITSELF,
        [
            (
                'Chart.yaml.annotations["helm.sh/depends-on/subcharts"]: parent waits for "parent", which is the same; '
                "take it out"
            )
        ],
    ),
    (
        "unknown to a disabled one",
        ("app(missing)",),
        (),
        off("app"),
        FaultKind.UNKNOWN,
        [
            (
                'Chart.yaml.dependencies[0].depends-on: app waits for "missing", which is not among the dependencies; '
                "known are app"
            )
        ],
    ),
]


@pytest.mark.parametrize(
    "entries, annotation, values, kind, sentences", [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_what_makes_no_order_is_told(
    entries: tuple[str, ...], annotation: tuple[str, ...], values: JsonObject, kind: FaultKind, sentences: list[str]
) -> None:
    with pytest.raises(ChartFaulty) as refusal:
        process.process(family("parent", *entries, annotation=annotation), values, strict=True)
    assert [f"{v.field}: {v.description}" for v in refusal.value.violations] == sentences
    assert {(fault.kind, fault.chart_path) for fault in refusal.value.faults} == {(kind, "parent")}
    assert isinstance(refusal.value, errors.ChartInvalid)


def test_s22_a_loop_in_a_subchart_names_its_path_and_its_file() -> None:
    application = family("application", "cache(worker)", "worker(cache)")
    with pytest.raises(ChartFaulty) as refusal:
        process.process(family("parent", "application as app", vendored=[application]), {})
    [fault] = refusal.value.faults
    assert (fault.kind, fault.chart_path, fault.names) == (FaultKind.CYCLE, "parent.app", ("cache", "worker"))
    assert fault.field == "charts/application-1.0.0/Chart.yaml.dependencies[0].depends-on"
    assert fault.description == (
        "subcharts of parent.app wait for each other in a loop: cache → worker → cache "
        "(cache waits for worker by charts/application-1.0.0/Chart.yaml dependencies[0].depends-on; "
        "worker waits for cache by charts/application-1.0.0/Chart.yaml dependencies[1].depends-on)"
    )


def test_references_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "MAX_EDGES", 3)
    assert batches(process.process(family("parent", "a", "b(a)", "c(a,b)"), {}))
    with pytest.raises(ChartFaulty, match="wait for each other by more than 3 names"):
        process.process(family("parent", "a", "b(a)", "c(a,b)", annotation=["c"]), {})


def test_a_long_loop_is_shown_in_part() -> None:
    names = [f"c{number:02}" for number in range(50)]
    entries = [f"{after}({before})" for before, after in zip([names[-1], *names], names, strict=False)]
    with pytest.raises(ChartFaulty) as refusal:
        process.process(family("parent", *entries), {})
    assert len(re.findall("waits for", str(refusal.value))) == 20
