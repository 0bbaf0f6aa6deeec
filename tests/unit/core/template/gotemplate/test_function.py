"""The functions of the template language."""

import decimal
import pathlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.template.gotemplate import program
from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import advice
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function import table as function
from tinkwell.core.value import document

VALUES = document.parse_json_object(
    "hardware",
    '{"s": "héllo", "n": 7, "f": 1.50, "t": true, "z": null, "l": ["a", "b", "c"], "o": {"k": "v"}, "e": ""}',
)


def printed(action: str) -> str:
    output = program.parse(action).execute(VALUES)
    return output.fill(output.text, is_plain=False)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("{{eq .s `héllo`}}", "true"),
        ("{{eq .n 1 7}}", "true"),
        ("{{eq .n 1 2}}", "false"),
        ("{{eq .f 1.5}}", "true"),
        ("{{eq .n 7.0}}", "true"),
        ("{{eq .t true}}", "true"),
        ("{{eq .z nil}}", "true"),
        ("{{eq .z 1}}", "false"),
        ("{{ne .n 7}}", "false"),
        ("{{lt 1 .f}} {{lt .n 7}} {{le .n 7}}", "true false true"),
        ("{{gt .n 6}} {{ge .n 7}} {{gt .n 7}}", "true true false"),
        ("{{lt `a` `b`}}", "true"),
        ("{{and .t .s}} {{and .e .s}}|", "héllo |"),
        ("{{or .e .s}} {{or .t .missing}}", "héllo true"),
        ("{{and .e .missing}}|", "|"),
        ("{{.s | and .t}}", "héllo"),
        ("{{not .t}} {{not .e}}", "false true"),
        ("{{len .s}} {{len .l}} {{len .o}}", "6 3 1"),
        ("{{.s | len}}", "6"),
        ("{{slice .s 0 1}} {{slice .s 1}}", "h éllo"),
        ("{{index (slice .l 1) 0}} {{len (slice .l 1 1)}}", "b 0"),
        ("{{print 1 2 `a` 3}}", "1 2a3"),
        ("{{print}}|", "|"),
        ("{{println 1 `a`}}", "1 a\n"),
        ('{{html `<a href="x">\'&`}}', "&lt;a href=&#34;x&#34;&gt;&#39;&amp;"),
        ("{{urlquery `a b&é~-_.`}}", "a+b%26%C3%A9~-_."),
        ('{{js `\'"\\<>&=/`}} {{js "\\n\\x00\\x7f"}}', "\\'\\\"\\\\\\u003C\\u003E\\u0026\\u003D/ \\u000A\\u0000\x7f"),
        ('{{js "é\\u2028\\u00a0\\U0001F600\\U000E0001" 1 2}}', "é\\u2028\\u00A0\U0001f600\\uE00011 2"),
        ("{{`a` | printf `%s-%s` `b`}}", "b-a"),
    ],
)
def test_a_function_does_what_it_does_in_go(action: str, expected: str) -> None:
    assert printed(action) == expected


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("{{eq .l .l}}", "a list cannot be compared"),
        ("{{eq .n .s}}", "a number cannot be compared with text"),
        ("{{ne .t 1}}", "true or false cannot be compared with a number"),
        ("{{lt .t .t}}", "true or false and true or false have no order"),
        ("{{lt .n .s}}", "a number and text have no order"),
        ("{{lt .l 1}}", "a list cannot be compared"),
        ("{{eq .n}}", "eq needs 2 or more arguments and has 1"),
        ("{{ne .n 1 2}}", "ne needs 2 arguments and has 3"),
        ("{{slice .l 1 2 3}}", "slice needs 1 to 3 arguments and has 4"),
        ("{{and}}", "and needs 1 or more arguments"),
        ("{{len .n}}", "a number has no length"),
        ("{{len nil}}", "null has no length"),
        ("{{index .l 3}}", "the index 3 is out of range; there are 3"),
        ("{{index .l -1}}", "out of range"),
        ("{{index .l true}}", "indexed by an integer"),
        ("{{index .l 1.0}}", "indexed by an integer"),
        ("{{index .o 1}}", "an object is indexed by text"),
        ("{{index .n 1}}", "a number cannot be indexed"),
        ("{{slice .l 2 1}}", "out of range"),
        ("{{slice .l 0 9}}", "out of range"),
        ("{{slice .s 0 2}}", "cuts a character in two"),
        ("{{slice .n 0 1}}", "a number cannot be sliced"),
        ("{{print .l}}", "the value is a list"),
        ("{{println .z}}", "the value is null"),
        ("{{html .o}}", "the value is an object"),
        ("{{printf}}", "printf needs 1 or more arguments"),
        ("{{printf 1}}", "the format of printf must be text and is a number"),
        ("{{printf `%d` .s}}", "printf cannot write a string as %d; %v writes any"),
        ("{{printf `%s` .n}}", "printf cannot write a number as %s"),
        ("{{printf `%d` .t}}", "printf cannot write true as %d"),
        ("{{printf `%t` .n}}", "printf cannot write a number as %t"),
        ("{{printf `%d` .f}}", "printf cannot write a number as %d"),
        ("{{printf `%v` .z}}", "the value is null"),
        ("{{printf `%c` 55296}}", "printf cannot write a number as %c"),
        ("{{printf `%d`}}", "no argument for %d"),
        ("{{printf `%d %d` 1}}", "no argument for %d"),
        ("{{printf `a` 1 2}}", "2 more arguments"),
        ("{{printf `%`}}", "printf does not know %"),
        ("{{printf `%y` 1}}", "printf does not know %y; it knows %v, %s"),
        ("{{printf `%*d` 1 2}}", "printf does not know %*"),
        ("{{printf `%[1]d` 1}}", "printf does not know %["),
        ("{{printf `%101d` 1}}", "100 characters at most"),
        ("{{printf `%.101f` 1}}", "100 characters at most"),
        ("{{printf `%99999999d` 1}}", "printf does not know"),
    ],
)
def test_a_function_refuses_what_it_cannot_do(action: str, problem: str) -> None:
    with pytest.raises(program.Fault) as refused:
        printed(action)
    assert problem in refused.value.description


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("{{printf `100%% %s` .s}}", "100% héllo"),
        ("{{printf `%v %v %v %v` .s .n .f .t}}", "héllo 7 1.50 true"),
        ("{{printf `%5s|%-5s|%.2s|%5.1s` `ab` `ab` `abc` `xyz`}}", "   ab|ab   |ab|    x"),
        ('{{printf `%q %q` .s `a"b`}}', '"héllo" "a\\"b"'),
        ("{{printf `%d %5d %-5d| %05d %+d % d` 1 2 3 4 5 6}}", "1     2 3    | 00004 +5  6"),
        ("{{printf `%x %X %o %b %08b %-5b|` 255 255 8 5 5 -5}}", "ff FF 10 101 00000101 -101 |"),
        ("{{printf `%x %X` `hé` `hé`}}", "68c3a9 68C3A9"),
        ("{{printf `%c%c` 104 233}}", "hé"),
        ("{{printf `%t %5t` true false}}", "true false"),
        ("{{printf `%f %.2f %8.1f %e` 1.5 .f .n 1500}}", "1.500000 1.50      7.0 1.500000e+03"),
        ("{{printf `node-%03d` .n}}", "node-007"),
    ],
)
def test_printf_formats_as_go_does(action: str, expected: str) -> None:
    assert printed(action) == expected


def test_no_function_that_is_there_is_said_to_be_left_out() -> None:
    assert [name for name in function.NAMES if advice.advise(name, function.NAMES) != f"did you mean {name}?"] == []


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\n\t\r\0\x7f", r'"\n\t\r\x00\x7f"'),
        ("é\u2028\U000e0001", '"é\\u2028\\U000e0001"'),
    ],
)
def test_quoting_escapes_what_does_not_print(text: str, quoted: str) -> None:
    assert gotemplate_format.quote(text) == quoted


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_text_is_the_same_text_when_it_is_read(text: str) -> None:
    assert printed("{{" + gotemplate_format.quote(text) + "}}") == text


def test_the_documentation_lists_every_function() -> None:
    page = pathlib.Path(__file__).parents[5] / "docs" / "reference" / "template-language.md"
    section = page.read_text().partition("## Functions")[2].partition("\n## ")[0]
    assert sorted(function.NAMES - set(re.findall(r"`(\w+)", section))) == []


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["%d%5.2f%c", "a{2}", "[", "{", "255.0.0.0", "-1"]
)
numbers = (
    st.integers(-(2**65), 2**65) | st.integers(-3, 3) | st.decimals(allow_nan=False, allow_infinity=False, places=2)
)
arguments = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(function.NAMES - {"and", "or"})), st.lists(arguments, max_size=4))
def test_a_function_gives_a_value_or_says_why_not(name: str, given: list[document.JsonValue]) -> None:
    try:
        made = function.call(name, given)
    except BadArgument:
        return
    assert made is None or isinstance(made, bool | int | decimal.Decimal | str | list | dict)
