"""Regular expressions: what they match, and that they take a bounded time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.template.gotemplate import pattern, program
from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.value import document


@pytest.mark.parametrize(
    ("expression", "found", "not_found"),
    [
        ("", ["", "x"], []),
        ("a(arch|rm)", ["aarch64", "arm", "xarmx"], ["x86_64", "a"]),
        ("^/dev/(sd|nvme)", ["/dev/sda", "/dev/nvme0n1"], ["x/dev/sda", "/dev/vda"]),
        ("x$", ["x", "ax"], ["x\n", "xa"]),
        (r"\Aab\z", ["ab"], ["xab", "abx"]),
        ("^(a|b|cd)+$", ["a", "abcdab"], ["", "abc"]),
        ("^a*?b??$", ["", "aaa", "ab"], ["abb"]),
        ("^(a*)*$", ["", "aa"], ["ab"]),
        ("^a{2}$", ["aa"], ["a", "aaa"]),
        ("^a{2,}$", ["aa", "aaaaa"], ["a"]),
        ("^a{1,3}b{0,1}$", ["a", "aaab"], ["aaaa", "b"]),
        ("^a{0}$", [""], ["a"]),
        ("a{,2}", ["a{,2}"], ["a"]),
        ("a{x", ["a{x"], ["a"]),
        ("^.$", ["x", "é"], ["\n", "xx", ""]),
        ("(?s)^.$", ["\n"], [""]),
        ("(?i)^arm$", ["ARM", "Arm"], ["amd"]),
        ("^a(?i:b)c$", ["abc", "aBc"], ["ABC", "abC"]),
        ("(?i)^[a-c]+$", ["ABC"], ["D"]),
        ("(?i)[^a]", ["b"], ["A", "a"]),
        ("^[abc-]+$", ["a-c"], ["d"]),
        ("^[]a]+$", ["]a"], ["["]),
        ("^[^]]$", ["a"], ["]"]),
        ("^[a-cx-z0]+$", ["abxz0"], ["d", "w"]),
        (r"^[\d.]+$", ["1.5"], ["a"]),
        (r"^[^\W_]+$", ["a1"], ["_", "-"]),
        (r"^[\]\\-]+$", ["]\\-"], ["a"]),
        ("^[[:alpha:]_]+$", ["aZ_"], ["1"]),
        (r"^\w+\s\d\D\W\S$", ["ab 1x-y"], ["ab1x-y"]),
        (r"\bsda\b", ["a sda b", "sda"], ["xsda", "sda1"]),
        (r"^\Bx", [], ["x"]),
        (r"a\.b\*\n\t", ["a.b*\n\t"], ["axb*\n\t"]),
        ("^(?P<disk>sd)(?:a|b)(?<part>1)$", ["sda1"], ["sd1"]),
        ("a||b", ["", "x"], []),
        ("^(|a)b$", ["b", "ab"], ["a"]),
    ],
)
def test_an_expression_finds_what_go_finds(expression: str, found: list[str], not_found: list[str]) -> None:
    assert [text for text in found if not pattern.is_found(expression, text)] == []
    assert [text for text in not_found if pattern.is_found(expression, text)] == []


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("(", "a parenthesis is not closed"),
        ("(a", "a parenthesis is not closed"),
        ("a)", "a parenthesis is closed that is not open"),
        ("[a", "the expression ends too early"),
        ("[", "the expression ends too early"),
        ("\\", "the expression ends too early"),
        ("*a", "nothing stands before *"),
        ("a|+", "nothing stands before +"),
        ("a**", "a repetition is repeated"),
        ("a{2,1}", "{2,1} ends before it begins"),
        ("[b-a]", "ends before it begins"),
        (r"[a-\d]", "a class within brackets is no end of a range"),
        ("a{2}{3}", "a repetition is repeated"),
        ("{2}", "nothing stands before {"),
        (r"\p", "the escape \\p is not known"),
        ("\\\u202e", "the escape \\\\u202e is not known"),
        (r"\1", "the escape \\1 is not known"),
        ("(?=a)", "what follows (? is not known"),
        ("(?m)a", "what follows (? is not known"),
        ("[[:nope:]]", "the class [:nope:] is not known"),
        ("a{1001}", "more than 1,000 steps"),
        ("(a{100}){100}", "more than 1,000 steps"),
        ("((((a{9999}){9999}){9999}){9999}){9999}", "more than 1,000 steps"),
        ("(a{1,9999})", "more than 1,000 steps"),
        ("|" * 600, "more than 1,000 steps"),
        ("a" * 1_001, "more than 1,000 characters"),
        ("(" * 21 + ")" * 21, "nested deeper than 20 levels"),
    ],
)
def test_what_is_no_expression_is_refused(expression: str, problem: str) -> None:
    with pytest.raises(BadArgument, match=re.escape(problem)):
        pattern.is_found(expression, "aaa")


@pytest.mark.parametrize(
    "expression", ["(a*)*b", "(a|a)*b", "(.*)(.*)(.*)(.*)x", "((a+)+)+b", "(a?){200}a{200}b", "(a|aa)+$b"]
)
def test_no_expression_takes_long(expression: str) -> None:
    assert not pattern.is_found(expression, "a" * 150)
    with pytest.raises(BadArgument, match="given too much"):
        pattern.is_found(expression, "a" * 100_000)


@given(st.text("ab|()[]^$.*+?{},123-\\dws:?i", max_size=12), st.text("ab1 \n-", max_size=8))
def test_every_expression_is_looked_for_or_refused_and_finds_what_python_finds(expression: str, text: str) -> None:
    try:
        is_found = pattern.is_found(expression, text)
    except BadArgument:
        return
    try:
        # Python takes an end before a last line end, too, which Go does not.
        compiled = re.compile(re.sub(r"(?<!\\)\$", r"\\Z", expression), re.ASCII)
    except (re.error, OverflowError):
        return
    if "[" not in expression and "\\" not in expression and "{," not in expression:
        assert is_found == bool(compiled.search(text))


@pytest.mark.parametrize(
    ("action", "value"),
    [
        ('regexMatch "(a|aa)+$b" .v', "a" * 1_000),
        ('regexMatch "a{1,300}b" .v', "a" * 100),
        ("regexMatch .v `x`", "a" * 900),
        ("toJson .v", ["a"] * 3_000),
        ("toYaml .v", ["a"] * 3_000),
    ],
)
def test_a_function_that_works_long_costs_more_than_its_arguments(action: str, value: document.JsonValue) -> None:
    parsed = program.parse("{{$x := " + action + "}}")
    parsed.execute({"v": value})
    with pytest.raises(program.Exhausted):
        parsed.execute({"v": value}, program.Allowance(steps=100, characters=32 * 1024))
