"""Functions that reckon."""

import pytest
from unit.core.template.gotemplate.printing import printed, refusal

from tinkwell.core.value import document

VALUES = document.parse_json_object("hardware", '{"n": 7, "f": 2.9, "s": "12", "t": true, "big": 9223372036854775807}')


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("{{add 1 2 3}} {{add .n}} {{.n | add 1}} {{add1 .n}}", "6 7 8 8"),
        ("{{sub 5 7}} {{mul 2 3 -4}}", "-2 -24"),
        ("{{div 7 2}} {{div -7 2}} {{div 7 -2}} {{div -7 -2}}", "3 -3 -3 3"),
        ("{{mod 7 3}} {{mod -7 3}} {{mod 7 -3}}", "1 -1 1"),
        ("{{max 1 3 2}} {{min 1 3 2}} {{max 5}}", "3 1 5"),
        (
            '{{int .f}} {{int "-12"}} {{int .t}} {{int "0755"}} {{int "0x1F"}} {{int "0b11"}} {{int "0"}}',
            "2 -12 1 493 31 3 0",
        ),
        ('{{atoi "0755"}} {{atoi "-3"}} {{atoi .s | add 1}}', "755 -3 13"),
        ("{{add .s .f .t}}", "15"),
        ("{{sub -9223372036854775807 1}}", "-9223372036854775808"),
    ],
)
def test_whole_numbers_are_reckoned_with_as_in_go(action: str, expected: str) -> None:
    assert printed(action, VALUES) == expected


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("{{add .big 1}}", "add has a number of more than 64 bits"),
        ("{{mul .big .big}}", "mul has a number of more than 64 bits"),
        ("{{add 99999999999999999999 1}}", "add has a number of more than 64 bits"),
        ("{{int 1e300}}", "int needs a whole number in place of a number"),
        ("{{div -9223372036854775808 -1}}", "div has a number of more than 64 bits"),
        ("{{div 1 0}}", "div cannot divide by 0"),
        ("{{mod 1 0}}", "mod cannot divide by 0"),
        ('{{int "x"}}', 'int needs a whole number in place of "x"'),
        ('{{int ""}}', 'int needs a whole number in place of ""'),
        ('{{int "08"}}', 'int needs a whole number in place of "08"'),
        ('{{atoi "0x10"}}', 'atoi needs a whole number in place of "0x10"'),
        ("{{atoi 1}}", "atoi needs text in place of a number"),
        ("{{add nil}}", "add needs a whole number in place of null"),
        ("{{add}}", "add needs 1 or more arguments and has 0"),
    ],
)
def test_what_is_no_number_or_too_large_is_refused(action: str, problem: str) -> None:
    assert problem in refusal(action, VALUES).description


def test_numbers_do_not_grow_however_often_they_are_multiplied() -> None:
    text = "{{$x := 3}}{{range .l}}{{$x = mul $x $x}}{{end}}"
    assert "more than 64 bits" in refusal(text, {"l": [*range(50)]}).description
