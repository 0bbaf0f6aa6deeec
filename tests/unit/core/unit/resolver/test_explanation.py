"""Which events a unit would get if nothing else happened."""

from unit.core.unit_life import STARTED, V2, view

from tinkwell.core.unit.resolver.explanation import upcoming


def test_what_comes_is_told_in_order_up_to_a_bound() -> None:
    seen = view(charm=V2, is_tick_due=True, leader="web/0", term=1)
    names = [event.name for event in upcoming(STARTED, seen, most=10)]
    assert names == ["leader-elected", "upgrade-charm", "config-changed", "start", "update-status"]
    assert [event.name for event in upcoming(STARTED, seen, most=2)] == names[:2]
    assert upcoming(STARTED, view(), most=2) == ()
