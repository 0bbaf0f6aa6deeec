"""The arguments by which users set values: their grammar, their types, and what is refused."""

import contextlib
import copy
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinkwell.core import errors
from tinkwell.core.release.chart.value import set_value
from tinkwell.core.release.chart.value.set_value import Mode
from tinkwell.core.value.document import JsonObject, JsonValue

TYPED: list[tuple[str, JsonObject]] = [
    ("", {}),
    ("name1=null,f=false,t=true", {"name1": None, "f": False, "t": True}),
    ("t=True,f=FALSE,n=Null", {"t": True, "f": False, "n": None}),
    ("name1=,name2=v", {"name1": "", "name2": "v"}),
    ("a=00009", {"a": "00009"}),
    ("a=0", {"a": 0}),
    ("a=1234567890", {"a": 1234567890}),
    ("a=-5,b=+5,c=-0", {"a": -5, "b": 5, "c": 0}),
    ("a=9223372036854775807,b=9223372036854775808", {"a": 2**63 - 1, "b": "9223372036854775808"}),
    ("a=1.5,b=1e3,c=0x1f,d=-,e=١", {"a": "1.5", "b": "1e3", "c": "0x1f", "d": "-", "e": "١"}),
    (r"n=one\,two", {"n": "one,two"}),
    (r"n=one\=two", {"n": "one=two"}),
    ("n=one=two", {"n": "one=two"}),
    (r"a\.b=1,c\[0\]=2,d\\=3", {"a.b": 1, "c[0]": 2, "d\\": 3}),
    (r"a=\{x\,y}", {"a": "{x,y}"}),
    ("a={x,y}", {"a": ["x", "y"]}),
    ("a={1021,902}", {"a": [1021, 902]}),
    ("a.b={x,y}", {"a": {"b": ["x", "y"]}}),
    ("a={x,y},b=1", {"a": ["x", "y"], "b": 1}),
    ("a={},b=[],c=[1]", {"a": [], "b": [], "c": "[1]"}),
    (r"a={x\,y,}", {"a": ["x,y", ""]}),
    ("list[0]=foo,list[3]=bar", {"list": ["foo", None, None, "bar"]}),
    ("list[0].foo=bar,list[0].hello=world", {"list": [{"foo": "bar", "hello": "world"}]}),
    ("nested[1][1]=1", {"nested": [None, [None, 1]]}),
    ("noval[0]", {"noval": []}),
    ("noval[0]=", {"noval": [""]}),
    ("a.b[0]", {"a": {"b": []}}),
    ("a[0][2]", {"a": [[]]}),
    ("a=1,", {"a": 1}),
    ("a=1,a=2", {"a": 2}),
    ("a=null,a.b=1", {"a": {"b": 1}}),
]
STRINGS: list[tuple[str, JsonObject]] = [
    ("b=true", {"b": "true"}),
    ("n=null", {"n": "null"}),
    ("z=0", {"z": "0"}),
    ("l={1,true}", {"l": ["1", "true"]}),
    ("l=[]", {"l": "[]"}),
    ("l[1]=1", {"l": [None, "1"]}),
]
JSONS: list[tuple[str, JsonObject]] = [
    ('{"a": {"b": [1, 1.50]}}', {"a": {"b": [1, Decimal("1.50")]}}),
    ('a={"b": "x,y"} ,c=[1, 2],d="e",f=null', {"a": {"b": "x,y"}, "c": [1, 2], "d": "e", "f": None}),
    ("a.b[1]= 7 ", {"a": {"b": [None, 7]}}),
]
LITERALS: list[tuple[str, JsonObject]] = [
    (r"a.b=x,y\,{z}=1 ", {"a": {"b": r"x,y\,{z}=1 "}}),
    ("a[0]=true", {"a": ["true"]}),
    ("a,b=1", {"a,b": "1"}),
    ("a=", {"a": ""}),
]


def applied(
    values: JsonObject, text: str, *, mode: Mode = Mode.TYPED, read_file: set_value.ReadFile | None = None
) -> JsonObject:
    for assignment in set_value.parse_set(text, mode=mode, read_file=read_file):
        values = set_value.assign(values, assignment, field=mode.value)
    return values


@pytest.mark.parametrize(
    "mode, text, expected",
    [
        (mode, *case)
        for mode, cases in [
            (Mode.TYPED, TYPED),
            (Mode.STRING, STRINGS),
            (Mode.JSON, JSONS),
            (Mode.LITERAL, LITERALS),
        ]
        for case in cases
    ],
)
def test_an_argument_sets_values(mode: Mode, text: str, expected: JsonObject) -> None:
    found = applied({}, text, mode=mode)
    assert found == expected
    assert repr(found) == repr(expected)  # true is not 1


def test_a_file_is_the_value_of_its_path() -> None:
    contents = {"/run/key": "a\n", "b,c": "true"}
    text = r"a=/run/key,l={b\,c,/run/key}"
    found = applied({}, text, mode=Mode.FILE, read_file=contents.__getitem__)
    assert found == {"a": "a\n", "l": ["true", "a\n"]}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("outer.inner1=v1,outer.inner4=4", {"outer": {"inner1": "v1", "inner2": "v2", "inner4": 4}, "l": [1, {}]}),
        ("l[1].a=2,l[3]=x", {"outer": {"inner1": "o", "inner2": "v2"}, "l": [1, {"a": 2}, None, "x"]}),
        ("l=1,outer=null", {"outer": None, "l": 1}),
        ("l[0]", {"outer": {"inner1": "o", "inner2": "v2"}, "l": [1, {}]}),
    ],
)
def test_what_was_there_before_stays_beside_it_and_is_not_changed_itself(text: str, expected: JsonObject) -> None:
    before: JsonObject = {"outer": {"inner1": "o", "inner2": "v2"}, "l": [1, {}]}
    untouched = copy.deepcopy(before)
    assert applied(before, text) == expected
    assert before == untouched


def test_an_object_of_json_is_merged_into_what_was_there_before() -> None:
    before: JsonObject = {"a": {"b": 1, "c": [1]}}
    found = applied(before, '{"a": {"c": [2], "d": null}}', mode=Mode.JSON)
    assert found == {"a": {"b": 1, "c": [2], "d": None}}


@pytest.mark.parametrize(
    "mode, text, sentence",
    [
        (Mode.TYPED, "a=1,,,,b=2", "has no key at character 5; write KEY=VALUE, and one comma between two of them"),
        (Mode.TYPED, "a,b=", "a has no value; write a=VALUE, or a= for an empty text"),
        (Mode.TYPED, "a.b", "a.b has no value; write a.b=VALUE, or a.b= for an empty text"),
        (Mode.TYPED, "a.=b", "has no key after a; write KEY=VALUE, and one comma between two of them"),
        (Mode.TYPED, "=b", "has no key at character 1; write KEY=VALUE, and one comma between two of them"),
        (Mode.TYPED, "a={1,2", "a is a list without its end; close it with }"),
        (Mode.TYPED, "a={1}2", "a goes on after the } of its list; put a comma in between, or a backslash before one"),
        (Mode.TYPED, "l[-20]=x", "l[-20] has no index from 0 to 65,536"),
        (Mode.TYPED, "l[65537]=x", "l[65537] has no index from 0 to 65,536"),
        (Mode.TYPED, "l[9999999999999999999999]=x", "l[9999999999999999999999] has no index from 0 to 65,536"),
        (Mode.TYPED, "l[]=x", "l[] has no index from 0 to 65,536"),
        (Mode.TYPED, "l[0=x", "l[ has no ] after it; write an index such as l[0]"),
        (Mode.TYPED, "illegal[0]name.x=1", 'illegal[0] is followed by "n"; after an index comes =, . or ['),
        (Mode.TYPED, "a[0],b=1", "a[0] has no value; write a[0]=VALUE, or a[0]= for an empty text"),
        (
            Mode.TYPED,
            "]={}].",
            '["]"] goes on after the } of its list; put a comma in between, or a backslash before one',
        ),
        (Mode.TYPED, "a=\\", "ends with a backslash; write two of them for one"),
        (Mode.TYPED, "a=1,a.b=2", "a is a number already; only an object has parts to be set"),
        (Mode.TYPED, "a.b=x,a.b[0]=2", "a.b is a string already; only a list has parts to be set"),
        (Mode.TYPED, "a[0]=x,a.b=2", "a is a list already; only an object has parts to be set"),
        (Mode.TYPED, ".".join("abcdefghijklmnopqrstuvwxyzabcdef") + "=1", "a.b.c… has more than 30 levels"),
        (Mode.JSON, "a=b", "a is not JSON at character 3: Expecting value; quote texts in it"),
        (Mode.JSON, "a=", "a is not JSON at character 3: Expecting value; quote texts in it"),
        (Mode.JSON, "a=1 2", "a goes on after its JSON; put a comma in between, or a backslash before one"),
        (Mode.JSON, f"a={'[' * 70}{']' * 70}", "line 1, column 65: is nested deeper than 64 levels"),
        (Mode.JSON, f"a={'[' * 100_000}", "a is nested deeper than 64 levels"),
        (Mode.JSON, '{"a": 1, "a": 2}', 'the key "a" occurs twice'),
        (Mode.LITERAL, "a.b", "a.b has no value; write a.b=VALUE, or a.b= for an empty text"),
    ],
)
def test_what_cannot_be_read_is_refused_under_the_name_of_its_option(mode: Mode, text: str, sentence: str) -> None:
    with pytest.raises(errors.InvalidField) as refusal:
        applied({}, text, mode=mode)
    assert [(v.field, v.description) for v in refusal.value.violations] == [(mode.value, sentence)]


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" for character in text)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=5), st.integers(-(2**63), 2**63 - 1))
@example(["a"], -(10**18))  # a sign is none of the nineteen digits
@example(["a"], -(2**63))
def test_a_path_whose_characters_have_no_meaning_leads_to_its_value(path: list[str], value: int) -> None:
    found: JsonValue = applied({}, f"{'.'.join(map(_escaped, path))}={value}")
    for key in path:
        assert isinstance(found, dict)
        assert list(found) == [key]
        found = found[key]
    assert found == value


@given(st.text(), st.sampled_from([Mode.TYPED, Mode.STRING, Mode.JSON, Mode.LITERAL]))
def test_an_argument_sets_values_or_is_refused_and_nothing_else(text: str, mode: Mode) -> None:
    with contextlib.suppress(errors.InvalidField):
        assert isinstance(applied({}, text, mode=mode), dict)
