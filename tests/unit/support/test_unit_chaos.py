"""How runs that kill all that runs units are judged."""

from unit.core.unit_log import Recorded

from support.unit_chaos.storm import judged


def told(namespace: str) -> Recorded:
    log = Recorded()
    log.application("web", namespace=namespace)
    log.unit("web/0", namespace=namespace)
    log.tell("web/0", "start")
    return log


def test_a_storm_is_judged_by_what_is_in_its_own_namespace() -> None:
    assert "I7" in {each.rule for each in judged(told("storm-1").entries, namespace="storm-1", is_at_rest=False)}


def test_a_judgement_that_looks_elsewhere_says_so() -> None:
    assert [each.rule for each in judged(told("storm-1").entries, namespace="default", is_at_rest=True)] == ["H1"]
    assert judged([], namespace="default", is_at_rest=True) == []
