"""Looks for regular expressions in a bounded time, as Go's package regexp does.

Theory of operation. All the places of a program where a match may stand are moved on together, one character of the
text after the other, so that nothing is tried twice (Thompson, "Regular expression search algorithm", 1968). The time
grows with the program's length multiplied by the text's, and no more than MAX_WORK of that is allowed. No expression
takes longer, as some do with Python's own module.
"""

from collections.abc import Iterable, Sequence

from tinkwell.core.template.gotemplate import expression
from tinkwell.core.template.gotemplate.fault import BadArgument

MAX_WORK = 100_000
# To move one place on takes as long as other functions need for so many characters.
_CHARACTERS_A_PLACE = 8
# So does to parse one character of an expression.
_CHARACTERS_A_SIGN = 50


def work(text: str, within: str) -> int:
    """Tell how many characters' worth of work it is, at most, to look for an expression in a text."""
    places = expression.MAX_INSTRUCTIONS if "{" in text else 2 * len(text)
    signs = min(len(text), expression.MAX_CHARACTERS)
    return signs * _CHARACTERS_A_SIGN + min(places * (len(within) + 1), MAX_WORK) * _CHARACTERS_A_PLACE


def is_found(text: str, within: str) -> bool:
    """Tell whether an expression matches a part of a text; raises BadArgument where it is none, or works too long."""
    program = expression.compile_expression(text)
    if (len(program) + 1) * (len(within) + 1) > MAX_WORK:
        raise BadArgument("regexMatch is given too much; make the expression or the text shorter", is_value=True)
    places: set[int] = set()
    for at in range(len(within) + 1):
        reached = _spread(program, {*places, 0}, within, at)
        if len(program) in reached:
            return True
        if at < len(within):
            places = {place + 1 for place in reached if _is_passed(program[place], within[at])}
    return False


def _is_passed(instruction: expression.Instruction, character: str) -> bool:
    return isinstance(instruction, expression.Characters) and character in instruction


def _spread(program: Sequence[expression.Instruction], places: Iterable[int], within: str, at: int) -> set[int]:
    """Follow forks and checks to all the places where a character is awaited, or to the end."""
    reached: set[int] = set()
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if place in reached:
            continue
        reached.add(place)
        if place == len(program):
            break
        match program[place]:
            case expression.Fork(offsets=offsets):
                waiting.extend(place + offset for offset in offsets)
            case expression.Check(holds=holds) if holds(within, at):
                waiting.append(place + 1)
    return reached
