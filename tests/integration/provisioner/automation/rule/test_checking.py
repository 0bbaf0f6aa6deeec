"""Expressions of a file are compiled in a real child process."""

from tinkwell.provisioner.automation.rule import checking
from tinkwell.provisioner.automation.rule.expression import Expression


def test_several_are_checked_together_and_one_that_takes_too_long_does_not_hold_the_others_up() -> None:
    numbers = str([*range(100)])
    endless = numbers
    for name in "abcdef":
        endless = f"{numbers}.map({name}, {endless})"
    found = checking.complaints([Expression(text) for text in ("event.id", endless, "1 +", "event.name")])
    assert [bool(each) for each in found] == [False, True, True, False]
    assert found[1].endswith("cannot be used: it needs more than 1 s of processor time")
