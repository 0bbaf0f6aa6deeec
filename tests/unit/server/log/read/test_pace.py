"""How eagerly a reader works."""

import pytest

from tinkwell.server.log.read.pace import Pace


@pytest.mark.parametrize(
    ("waited_seconds", "pause_seconds"),
    [(0.0, 0.0), (0.002, 0.0001), (0.1, 0.005), (1.0, 0.05), (3_600.0, 0.05)],
    ids=str,
)
def test_above_a_gap_pauses_grow_with_its_age_up_to_a_bound(waited_seconds: float, pause_seconds: float) -> None:
    assert Pace().gap_pause_seconds(waited_seconds) == pytest.approx(pause_seconds)
