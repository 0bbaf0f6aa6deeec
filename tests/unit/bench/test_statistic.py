"""The arithmetic of the benchmarks, and the page that it ends in."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import report, statistic
from bench.load import stamp
from bench.result import Outcome, Table, Verdict


@given(st.lists(st.floats(min_value=2e-6, max_value=100), min_size=1), st.sampled_from([0.01, 0.5, 0.99, 1.0]))
def test_a_percentile_is_within_a_per_cent_of_the_exact_one(seconds: list[float], share: float) -> None:
    latencies = statistic.Latencies()
    for value in seconds:
        latencies.add(value)
    below = next(value for place, value in enumerate(sorted(seconds), 1) if place >= share * len(seconds))
    assert latencies.percentile(share) == pytest.approx(below, rel=0.01)


def test_histograms_from_two_processes_add_up() -> None:
    first, second = statistic.Latencies(), statistic.Latencies()
    first.add(0.001)
    second.add(0.001)
    second.add(0.5)
    first.merge(statistic.Latencies.parse(second.message()))
    assert first.count == 3
    assert first.percentile(1.0) == pytest.approx(0.5, rel=0.01)


def test_variants_take_turns_in_turning_order() -> None:
    assert list(statistic.interleave(("A", "B"), 3)) == ["A", "B", "B", "A", "A", "B"]


def test_a_ratio_is_taken_pair_by_pair() -> None:
    assert statistic.ratio([1, 20, 6], [1, 10, 2]) == statistic.Spread(median=2, low=1, high=3)
    with pytest.raises(ValueError):
        statistic.ratio([1, 2], [1])


def test_a_figure_is_held_at_its_bound_and_missed_beyond_it() -> None:
    at = statistic.spread([0.85])
    assert Verdict.of("", at, "≥", 0.85).is_held
    assert Verdict.of("", at, "≤", 0.85).is_held
    assert not Verdict.of("", at, "≥", 0.86).is_held
    assert not Verdict.of("", at, "≤", 0.84).is_held


def test_what_could_not_be_measured_is_not_held() -> None:
    verdict = Verdict.missing("", "≥", 1, reason="no compiler")
    assert not verdict.is_held
    assert "no compiler" in verdict.word


def test_a_stamped_value_has_its_size_and_keeps_its_moment() -> None:
    before = time.time_ns()
    value = stamp.write(300)
    assert len(value) == 300
    assert before <= stamp.read(f'{{"metadata": {value}}}') <= time.time_ns()


def test_the_page_shows_saved_outcomes_with_verdicts_and_failures(tmp_path: Path) -> None:
    outcome = Outcome(
        title="Fan-out",
        compares="this with that",
        tables=(Table("20 watchers", ("", "events/s"), (("Tinkwell", "9"),)),),
        verdicts=(Verdict.of("events/s to etcd's", statistic.spread([1.4, 1.2, 1.6]), "≥", 1.5),),
        notes=("it is limited",),
    )
    outcome.save(tmp_path / "saved.json")
    saved = Outcome.load(tmp_path / "saved.json")
    assert saved == outcome
    page = tmp_path / "page.md"
    report.write(page, [saved], {"bulk": "no disk"}, machine={"cores": "2"}, command="make bench", pairs=3)
    text = page.read_text()
    assert "| events/s to etcd's | 1.40× (1.20 – 1.60) | ≥ 1.50× | **missed** |" in text
    assert "| Tinkwell | 9 |" in text
    assert "no disk" in text
    assert "* it is limited" in text
