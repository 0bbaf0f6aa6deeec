"""What a run may cost: counted by what functions are given and what they make, whichever functions these are."""

import pytest

from tinkwell.core.template.gotemplate import budget, program
from tinkwell.core.template.gotemplate.budget import Allowance, Budget, Exhausted
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function import table as function
from tinkwell.core.value import document

SMALL = Allowance(steps=20, characters=100)


def fault(text: str, values: document.JsonObject, allowance: Allowance = SMALL) -> program.Fault:
    with pytest.raises(program.Fault) as refused:
        program.parse(text).execute(values, allowance)
    return refused.value


@pytest.mark.parametrize("call", ["print .s", "printf `%s` .s", "html .s", "urlquery .s", "len .s", "eq .s `x`"])
def test_a_function_costs_what_it_is_given(call: str) -> None:
    found = fault(f"{{{{$x := {call}}}}}", {"s": "s" * 101})
    assert isinstance(found, Exhausted)
    assert "reads and writes more than 100 characters" in found.description
    program.parse(f"{{{{$x := {call}}}}}").execute({"s": "s" * 20}, SMALL)


@pytest.mark.parametrize("call", ["printf `%99s` .s", "printf `%q` .control", "html .ampersand", "urlquery .control"])
def test_a_function_costs_what_it_makes(call: str) -> None:
    values: document.JsonObject = {"s": "s", "control": "\u202e" * 20, "ampersand": "&" * 25}
    assert isinstance(fault(f"{{{{$x := {call}}}}}", values), Exhausted)


@pytest.mark.parametrize("call", ["js .s", "toJson .s", "fromJson .s", "uniq .l", "regexMatch `s` .s"])
def test_a_function_costs_the_work_that_it_takes(call: str) -> None:
    assert isinstance(fault(f"{{{{$x := {call}}}}}", {"s": "s" * 30, "l": [*range(30)]}), Exhausted)


@pytest.mark.parametrize("text", ["{{range .l}}{{end}}", "{{.a.a.a.a.a.a.a}}" * 3, "{{1}}" * 11])
def test_each_node_and_each_name_is_a_step(text: str) -> None:
    nested: document.JsonValue = "x"
    for _ in range(6):
        nested = {"a": nested}
    found = fault(text, {"l": [*range(21)], "a": nested})
    assert isinstance(found, Exhausted)
    assert "takes more than 20 steps" in found.description


def test_an_object_counts_with_all_that_is_in_it_unless_a_function_does_not_look() -> None:
    deep: document.JsonValue = {"name": ["x" * 30, {"y": "z" * 80}]}
    with pytest.raises(Exhausted):
        Budget(SMALL).give("any", [deep], 0, is_shallow=False)
    Budget(SMALL).give("any", [deep], 0, is_shallow=True)
    assert program.parse("{{len .d}}{{index .d.name 0}}").execute({"d": deep}, SMALL).size


def test_what_was_measured_once_is_not_walked_through_again() -> None:
    counted = Budget(Allowance(steps=1, characters=10_000))
    for _ in range(9):
        counted.give("any", [SHARED], 0, is_shallow=False)
    with pytest.raises(Exhausted, match="1 steps"):
        counted.give("any", [[*SHARED]], 0, is_shallow=False)


def test_lists_that_functions_put_into_one_another_nest_no_deeper_than_allowed() -> None:
    counted = Budget(budget.FULL)
    made: list[document.JsonValue] = []
    for _ in range(budget.MAX_VALUE_DEPTH - 1):
        made = [made]
        counted.take(made, 0, is_shallow=False)
    with pytest.raises(program.Fault, match="nest deeper"):
        counted.take([made], 0, is_shallow=False)


@pytest.mark.parametrize("name", sorted(function.SHALLOW))
def test_what_is_shallow_is_a_function(name: str) -> None:
    assert name in function.NAMES


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ('a "b" \\', '"a \\"b\\" \\\\"'),
        ("\u202e\u202e", '"\\u202e\\u202e"'),
        ("\x00\x7f\t", '"\\x00\\x7f\\t"'),
        ("ä€😀", '"ä€😀"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_a_quoted_text_is_a_constant_of_go(text: str, quoted: str) -> None:
    assert gotemplate_format.quote(text) == quoted


SHARED: list[document.JsonValue] = ["x" * 99]
