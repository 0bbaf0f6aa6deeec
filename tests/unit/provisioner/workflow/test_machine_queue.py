"""Who waits for which machine, and who is next."""

from datetime import UTC, datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tinkwell.provisioner.workflow.machine_queue import Turns, Waiter


def waiter(age: int) -> Waiter:
    return Waiter(datetime.fromtimestamp(age, UTC), f"w{age}")


def test_the_oldest_is_next_whenever_it_came() -> None:
    turns = Turns(10)
    assert turns.begin(waiter(5), ["a"]) == (True, [])
    for age in (3, 1, 2):
        assert turns.begin(waiter(age), ["a"]) == (False, [])
    order = ["w5"]
    while woken := turns.end(order[-1]):
        assert [turns.is_holder(each) for each in woken] == [True]
        order += woken
    assert order == ["w5", "w1", "w2", "w3"]
    assert turns.holders() == []


def test_a_holder_that_was_not_known_is_to_be_looked_at_for_it_may_have_ended() -> None:
    turns = Turns(10)
    assert turns.wait(waiter(1), machine="a", holder="theirs") == ["theirs"]
    assert turns.wait(waiter(2), machine="a", holder="theirs") == []
    assert turns.end("theirs") == ["w1"]


def test_who_must_wait_for_another_machine_lets_the_first_one_go() -> None:
    turns = Turns(10)
    turns.begin(waiter(1), ["a"])
    turns.begin(waiter(2), ["b"])
    assert turns.begin(waiter(3), ["a", "b"]) == (False, [])
    assert turns.begin(waiter(4), ["a"]) == (False, [])
    assert turns.end("w1") == ["w3"]
    assert turns.begin(waiter(3), ["a", "b"]) == (False, ["w4"])
    assert turns.begin(waiter(4), ["a"]) == (True, [])
    assert turns.end("w2") == ["w3"]


def test_beyond_the_limit_nobody_is_remembered() -> None:
    turns = Turns(1)
    turns.begin(waiter(1), ["a"])
    turns.begin(waiter(3), ["a"])
    turns.begin(waiter(2), ["a"])
    assert turns.end("w1") == ["w3"]
    assert turns.end("w3") == []


@given(st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=12), st.randoms())
def test_everybody_has_his_turn_and_no_machine_two_holders(needs: list[set[str]], random: Random) -> None:
    turns = Turns(100)
    wanted = {f"w{age}": (waiter(age), needed) for age, needed in enumerate(needs)}
    to_look_at, running, ended = list(wanted), list[str](), list[str]()
    random.shuffle(to_look_at)
    looks = 0
    while to_look_at or running:
        looks += 1
        assert looks < 2_000
        if to_look_at:
            id_ = to_look_at.pop(0)
            if id_ in running or id_ in ended:
                continue
            begun, woken = turns.begin(*wanted[id_])
            if begun:
                assert not any(wanted[other][1] & wanted[id_][1] for other in running)
                running.append(id_)
        else:
            ended.append(running.pop(0))
            woken = turns.end(ended[-1])
        to_look_at += woken
    assert sorted(ended) == sorted(wanted)
    assert turns.holders() == []
