"""Functions that work on texts."""

import pytest
from unit.core.template.gotemplate.printing import printed, refusal

from tinkwell.core.template.gotemplate.function import argument
from tinkwell.core.value import document

VALUES: document.JsonObject = {"s": "héllo", "mac": "52:54:00:AA", "n": 7, "z": None, "l": ["a"], "long": "x" * 300_000}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ('{{contains "ll" .s}} {{contains .s "ll"}} {{contains "" .s}}', "true false true"),
        ('{{.s | contains "x"}} {{"catch" | contains "cat"}}', "false true"),
        ('{{hasPrefix "hé" .s}} {{hasPrefix .s "hé"}}', "true false"),
        ('{{hasSuffix "lo" .s}} {{.s | hasSuffix "h"}}', "true false"),
        ('{{trim " \\t\\nx y\\u00a0\\r"}}|', "x y|"),
        ('{{trimAll "$#" "#$5.00$"}} {{trimAll "" "$5$"}}', "5.00 $5$"),
        ('{{trimPrefix "52:" .mac}} {{trimPrefix "x" .mac}}', "54:00:AA 52:54:00:AA"),
        ('{{trimSuffix "AA" .mac}} {{trimSuffix "" .mac}}', "52:54:00: 52:54:00:AA"),
        ("{{upper .s}} {{lower .mac}}", "HÉLLO 52:54:00:aa"),
        ('{{upper "ßŉ"}} {{lower "ΑΣ"}} {{lower "İ"}}', "ßŉ ασ i"),
        ('{{.mac | replace ":" "-"}} {{replace "" "." "ab"}} {{replace "x" "y" ""}}|', "52-54-00-AA .a.b. |"),
        ('{{repeat 3 "ab"}}{{repeat 0 "ab"}}{{repeat 1000000000 ""}}', "ababab"),
        (
            '{{trunc 5 "hello world"}} {{trunc -5 "hello world"}} {{trunc 99 "ab"}} {{trunc -99 "ab"}}',
            "hello world ab ab",
        ),
        ('{{trunc 0 "ab"}}|{{trunc 3 .s}}', "|hé"),
        (
            '{{substr 0 5 "hello world"}} {{substr -1 5 "hello world"}} {{substr 6 -1 "hello world"}}',
            "hello hello world",
        ),
        ('{{substr 6 99 "hello world"}}', "world"),
        ('{{cat "a" .n .z true}} {{cat}}|', "a 7 true |"),
        ('{{toString .n}}{{toString true}}{{"a" | toString}}', "7truea"),
        ('{{quote .s}} {{quote "a\\"b"}} {{quote .n .z "x"}} {{quote .z}}|', '"héllo" "a\\"b" "7" "x" |'),
        ('{{squote .s}} {{squote .n "x"}}', "'héllo' '7' 'x'"),
        ('{{print (indent 2 "a\\nb")}}', "  a\n  b"),
        ('{{print (nindent 2 "a\\n\\nb")}}', "\n  a\n  \n  b"),
        ('{{regexMatch "a(arch|rm)" (lower "AARCH64")}} {{regexMatch "^ARM" "arm"}}', "true false"),
        ('{{regexMatch "^\\\\w+$" "a1_"}} {{regexMatch "\\\\d" "٣"}}', "true false"),
    ],
)
def test_a_text_comes_out_as_it_does_in_sprig(action: str, expected: str) -> None:
    assert printed(action, VALUES) == expected


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ('{{regexMatch "(" "a"}}', 'regexMatch: "(" is no regular expression that is known here: missing ), untermin'),
        ('{{regexMatch "(?u)a" "a"}}', "is no regular expression that is known here: "),
        ('{{regexMatch "^[[:alpha:]]+$" "a"}}', "write [a-zA-Z] in place of [[:alpha:]], and the like"),
        ('{{contains "a" .n}}', "contains needs text in place of a number"),
        ('{{hasPrefix "a" .l}}', "hasPrefix needs text in place of a list"),
        ("{{upper .z}}", "upper needs text in place of null"),
        ('{{contains "a"}}', "contains needs 2 arguments and has 1"),
        ('{{trunc 2 "hé"}}', "trunc cuts a character in two"),
        ('{{substr 0 2 "hé"}}', "substr cuts a character in two"),
        ('{{substr 3 2 "abc"}}', "substr starts at 3 and ends at 2"),
        ('{{substr -1 -1 "abc"}}', "a start or an end from 0 on"),
        ('{{trunc "1" "abc"}}', "trunc needs a whole number in place of a string; atoi makes a number of a text"),
        ('{{repeat -1 "abc"}}', "less than 0 times"),
        ('{{repeat 262145 "a"}}', "repeat makes more than 262,144 characters"),
        ('{{repeat 1000000000000 "a"}}', "repeat makes more than 262,144 characters"),
        ('{{repeat 99999999999999999999 "a"}}', "repeat has a number of more than 64 bits"),
        ('{{replace "x" "yy" .long}}', "replace makes more than 262,144 characters"),
        ('{{replace "" .long .long}}', "replace makes more than 262,144 characters"),
        ('{{indent 101 "a"}}', "indent indents by 0 to 100 spaces"),
        ('{{nindent -1 "a"}}', "nindent indents by 0 to 100 spaces"),
        ("{{nindent 1 .long}}", "nindent makes more than 262,144 characters"),
        ("{{quote .l}}", "the value is a list"),
        ("{{squote .l}}", "the value is a list"),
    ],
)
def test_what_no_text_comes_out_of_is_refused(action: str, problem: str) -> None:
    assert problem in refusal(action, VALUES).description


def test_the_longest_result_is_given() -> None:
    assert len(printed(f'{{{{repeat {argument.MAX_RESULT_CHARACTERS} "a"}}}}', {})) == argument.MAX_RESULT_CHARACTERS
