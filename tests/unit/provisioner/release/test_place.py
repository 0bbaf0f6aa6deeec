"""Places for calls, and keys that exclude each other."""

from tinkwell.provisioner.release import place


def _waiter(places: place.Places, name: str, woken: list[str]) -> None:
    places.wait(name, lambda: woken.append(name))


def test_there_are_so_many_places_as_were_said() -> None:
    places = place.Places(2)
    assert [places.take("a") for _ in range(3)] == [True, True, False]
    places.free()
    assert places.take("b")


def test_a_place_that_is_freed_is_kept_for_the_one_that_has_waited_longest() -> None:
    places, woken = place.Places(1), list[str]()
    places.take("a")
    for name in ("b", "c"):
        _waiter(places, name, woken)
    places.free()
    assert woken == ["b"]
    assert not places.take("a")
    assert not places.take("c")
    assert places.take("b")


def test_a_place_that_is_not_needed_goes_to_the_next() -> None:
    places, woken = place.Places(1), list[str]()
    places.take("a")
    for name in ("b", "c"):
        _waiter(places, name, woken)
    places.free()
    places.leave("b")
    assert woken == ["b", "c"]
    assert places.take("c")


def test_who_waits_again_is_behind_the_others() -> None:
    places, woken = place.Places(1), list[str]()
    places.take("a")
    for name in ("b", "c"):
        _waiter(places, name, woken)
    places.free()
    places.take("b")
    _waiter(places, "b", woken)
    places.free()
    assert woken == ["b", "c"]


def test_what_runs_already_takes_a_place_though_none_is_free() -> None:
    places, woken = place.Places(1), list[str]()
    places.take("a")
    places.force()
    _waiter(places, "b", woken)
    places.free()
    assert woken == []
    places.free()
    assert woken == ["b"]


def _enter(keys: place.Keys, name: str, woken: list[str]) -> None:
    keys.enter(name, lambda: woken.append(name))


def test_a_key_is_busy_for_others_while_it_is_used() -> None:
    keys, woken = place.Keys(), list[str]()
    for name in ("a", "b"):
        _enter(keys, name, woken)
    keys.use("a", "disk")
    keys.use("a", "disk")
    assert not keys.busy("a")
    assert keys.busy("b") == frozenset({"disk"})
    keys.free("a", "disk")
    assert keys.busy("b") == frozenset({"disk"})
    assert woken == []
    keys.free("a", "disk")
    assert not keys.busy("b")
    assert woken == ["b"]


def test_an_operation_that_leaves_uses_nothing_any_more() -> None:
    keys, woken = place.Keys(), list[str]()
    for name in ("a", "b"):
        _enter(keys, name, woken)
    keys.use("a", "disk")
    keys.use("a", "")
    keys.leave("a")
    keys.free("a", "disk")
    assert not keys.busy("b")
    assert woken == ["b"]
