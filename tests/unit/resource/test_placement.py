"""Which units the image of applications adds and removes."""

import importlib.util
import sys
from types import ModuleType

import pytest

from support.author import EXAMPLES


@pytest.fixture(scope="module")
def placement() -> ModuleType:
    path = EXAMPLES / "tinkwell-application" / "placement.py"
    spec = importlib.util.spec_from_file_location("placement_of_applications", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# Where units 0, 1 and so on are, how many are wanted, and where; places to add, and numbers to remove.
CASES: dict[str, tuple[list[str], int, list[str], list[str], list[int]]] = {
    "none is there": ([], 2, ["a", "b"], ["a", "b"], []),
    "nothing is due": (["a", "b"], 2, ["a", "b"], [], []),
    "the order does not matter": (["b", "a"], 2, ["a", "b"], [], []),
    "more, wherever": (["a"], 3, [], ["", ""], []),
    "more, of which one has a place": (["a"], 3, ["a", "b"], ["b", ""], []),
    "fewer: the last ones go": (["a", "b", "c"], 1, [], [], [2, 1]),
    "fewer: those at their places stay": (["a", "b", "c"], 1, ["c"], [], [1, 0]),
    "more places than units": (["a"], 1, ["a", "b"], [], []),
    "another machine": (["a"], 1, ["b"], ["b"], [0]),
    "two on one machine": (["a"], 2, ["a", "a"], ["a"], []),
    "not placed yet, and a machine is wanted": ([""], 1, ["a"], ["a"], [0]),
    "not placed yet, and any will do": ([""], 1, [], [], []),
    "anywhere stands for all": (["anywhere", "a"], 2, ["anywhere"], ["anywhere"], [1]),
    "no unit at all": (["a", "b"], 0, ["a"], [], [1, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_units_are_added_and_removed(placement: ModuleType, case: str) -> None:
    there, count, places, added, removed = CASES[case]
    units = [placement.Placed(f"web/{number}", place) for number, place in enumerate(there)]
    found = placement.moves(units, count, places)
    assert list(found.added) == added
    assert list(found.removed) == [f"web/{number}" for number in removed]
    assert len(units) + len(added) - len(removed) == count
