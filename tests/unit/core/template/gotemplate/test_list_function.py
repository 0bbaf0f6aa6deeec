"""Functions that work on lists and objects, and those that choose."""

import pytest
from unit.core.template.gotemplate.printing import printed, refusal

from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.value import document

VALUES = document.parse_json_object(
    "hardware",
    """{"s": "x", "e": "", "n": 7, "zero": 0, "z": null, "t": true, "l": ["b", "a", "b", "", 7, null], "none": [],
        "o": {"k": {"v": "deep"}, "b": "two", "n": null}, "texts": ["b", "a", "c"]}""",
)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ('{{default "d" .e}} {{default "d" .s}} {{.zero | default 5}} {{default "d" .z}} {{default "d"}}', "d x 5 d d"),
        ('{{index . "missing" | default "d"}}', "d"),
        ("{{empty .e}} {{empty .none}} {{empty .zero}} {{empty .s}} {{empty .z}}", "true true true false true"),
        ('{{coalesce .e .zero .none "c" "d"}} {{coalesce .e | default "none"}}', "c none"),
        ('{{ternary "a" "b" .t}} {{.t | not | ternary "a" "b"}}', "a b"),
        ("{{len (list 1 2 3)}} {{index (list .s .n) 1}}", "3 7"),
        ("{{append .texts 1 | join `,`}} {{prepend .texts 1 | join `,`}}", "b,a,c,1 1,b,a,c"),
        ("{{concat .texts (list 1) .none | join `,`}}", "b,a,c,1"),
        ("{{first .texts}} {{last .texts}} {{first .none | default `none`}}", "b c none"),
        ("{{rest .texts | join `,`}} {{initial .texts | join `,`}} {{rest .none | len}}", "a,c b,a 0"),
        ("{{reverse .texts | join `,`}} {{compact .l | join `,`}} {{uniq .l | join `,`}}", "c,a,b b,a,b,7 b,a,,7"),
        ("{{has `a` .l}} {{has 7 .l}} {{has 1 (list true)}} {{has 8 .l}}", "true true false false"),
        ("{{sortAlpha .texts | join `,`}} {{sortAlpha (list 10 9 `a`) | join `,`}}", "a,b,c 10,9,a"),
        ("{{join `,` .l}} {{join `,` .s}} {{join `,` .none}}|", "b,a,b,,7 x |"),
        ("{{(split `:` `a:b:c`)._1}} {{len (split `:` `a`)}}", "b 1"),
        ("{{splitList `:` `a:b:c` | last}} {{splitList `` `hé` | len}} {{splitList `,` `` | len}}", "c 2 1"),
        ("{{(dict `a` 1 `b` `two`).b}} {{len (dict)}} {{(dict `odd`).odd}}|", "two 0 |"),
        ("{{get .o `b`}} {{get .o `missing`}}|", "two |"),
        ("{{hasKey .o `n`}} {{hasKey .o `m`}}", "true false"),
        (
            "{{keys .o | join `,`}} {{keys .o (dict `z` 1) | join `,`}} {{values (dict `b` 2 `a` 1) | join `,`}}",
            "b,k,n b,k,n,z 1,2",
        ),
        ("{{.z | default list | len}} {{len dict}} {{dig `x` `y` dict .o | toJson}}", "0 0 {}"),
        ("{{dig `k` `v` `d` .o}} {{dig `k` `w` `d` .o}} {{dig `x` `y` `d` .o}}", "deep d d"),
    ],
)
def test_a_value_is_found_or_made_as_in_sprig(action: str, expected: str) -> None:
    assert printed(action, VALUES) == expected


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("{{default `d` .missing}}", 'map has no entry for key "missing"'),
        ("{{ternary 1 2 3}}", "ternary needs true or false in place of a number"),
        ("{{fail `no disk is large enough`}}", "no disk is large enough"),
        ("{{first .s}}", "first needs a list in place of a string"),
        ("{{rest .o}}", "rest needs a list in place of an object"),
        ("{{join `,` .o}}", "join needs a list in place of an object"),
        ("{{join `,` (list .texts)}}", "the value is a list"),
        ("{{has .l .l}}", "has cannot compare a list"),
        ("{{uniq (list .o)}}", "uniq cannot compare an object"),
        ("{{get .s `a`}}", "get needs an object in place of a string"),
        ("{{dict 1 2}}", "dict needs text in place of a number"),
        ("{{dig `b` `x` `d` .o}}", "dig needs an object in place of a string"),
        ("{{dig `b` .o}}", "dig needs 3 or more arguments and has 2"),
        (
            "{{.o.b | set .o `b`}}",
            'the function "set" is not defined; no value is changed; make a new object with dict',
        ),
    ],
)
def test_what_is_no_list_or_object_is_refused(action: str, problem: str) -> None:
    assert problem in refusal(action, VALUES).description


@pytest.mark.parametrize(
    "action",
    [
        "{{append .many 1}}",
        "{{prepend .many 1}}",
        "{{concat .many .many}}",
        "{{splitList `,` .commas}}",
        "{{split `,` .commas}}",
        "{{splitList `` .commas}}",
        "{{keys .map .map}}",
        "{{list " + "1 " * (argument.MAX_RESULT_ITEMS + 1) + "}}",
    ],
)
def test_no_list_is_made_that_is_too_long(action: str) -> None:
    count = argument.MAX_RESULT_ITEMS
    values: document.JsonObject = {
        "many": [*range(count)],
        "commas": "," * (count + 1),
        "map": {str(key): key for key in range(count)},
    }
    assert "makes more than 10,000 items" in refusal(action, values).description


def test_no_text_is_joined_that_is_too_long() -> None:
    values: document.JsonObject = {"many": ["x"] * 1_000, "long": "y" * 1_000}
    assert "join makes more than 262,144 characters" in refusal("{{join .long .many}}", values).description


def test_what_a_template_fails_with_is_short_and_prints() -> None:
    assert refusal('{{fail "\\x1b[2J\\n\\u202e"}}', {}).description == "\\u001b[2J\\u000a\\u202e"
    assert len(refusal("{{fail .v}}", {"v": "x" * 100_000}).description) == 301


def test_nothing_that_a_template_is_given_is_changed() -> None:
    values = document.parse_json_object("hardware", '{"l": ["b", "a"], "o": {"k": ["v"]}}')
    for call in ("append .l 1", "concat .l .l", "reverse .l", "sortAlpha .l", "uniq .l", "rest .l", "values .o"):
        printed(f"{{{{$x := {call}}}}}", values)
    assert values == {"l": ["b", "a"], "o": {"k": ["v"]}}
