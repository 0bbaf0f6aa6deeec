"""Definitions that are inserted, and ranges that are left."""

import pytest
from unit.core.template.gotemplate.printing import printed, refusal

from tinkwell.core.template.gotemplate import program
from tinkwell.core.template.gotemplate.syntax import parser
from tinkwell.core.value import document

VALUES = document.parse_json_object(
    "hardware", '{"d": "mac", "l": ["a", "b", "c", "d"], "o": {"k": "v"}, "t": true, "n": [[1, 2], [3]]}'
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{define "x"}}[{{.}}]{{end}}{{template "x" .d}}{{template "x" `y`}}', "[mac][y]"),
        ('{{template "x" .o}}{{define "x"}}{{.k}}{{$.k}}{{end}}', "vv"),
        ('{{define "x"}}{{if .}}some{{else}}none{{end}}{{end}}{{template "x"}} {{template "x" .}}', "none some"),
        ('{{define "x"}}{{$y := 1}}{{$y}}{{end}}{{$y := 2}}{{template "x"}}{{$y}}', "12"),
        ('{{define "a"}}{{template "b" .k}}!{{end}}{{define "b"}}<{{.}}>{{end}}{{template "a" .o}}', "<v>!"),
        ('a {{- define "x" -}} b {{- end -}} c{{template "x"}}', "acb"),
        ('{{range .l}}{{template "x" .}}{{end}}{{define "x"}}{{.}},{{end}}', "a,b,c,d,"),
        ('{{block "x" .o}}{{.k}}{{end}}{{template "x" .o}}', "vv"),
        ('{{if .t}}{{block "x" .d}}{{.}}{{end}}{{end}}', "mac"),
        ('{{define "x"}} {{end}}{{define "x"}}full{{end}}{{define "x"}}{{/* */}}{{end}}{{template "x"}}', "full"),
        ("{{define `x`}}raw{{end}}{{template `x`}}", "raw"),
        ('{{define "x"}}{{range .}}{{break}}{{end}}x{{end}}{{range .l}}{{template "x" $.l}}{{end}}', "xxxx"),
        (
            '{{define "x"}}{{with .}}{{.}}{{template "x" (sub . 1)}}{{end}}{{end}}{{template "x" 3}}',
            "321",
        ),
    ],
)
def test_a_definition_is_written_where_it_is_inserted(text: str, expected: str) -> None:
    assert printed(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{range .l}}{{if eq . `c`}}{{break}}{{end}}{{.}}{{end}}.", "ab."),
        ("{{range .l}}{{if eq . `c`}}{{continue}}{{end}}{{.}}{{end}}.", "abd."),
        ("{{range .n}}{{range .}}{{.}}{{break}}{{end}};{{end}}", "1;3;"),
        ("{{range .n}}{{range .}}{{continue}}{{end}};{{end}}", ";;"),
        ("{{range .l}}{{with $x := .}}{{if $x}}{{$y := 1}}{{continue}}{{end}}{{end}}{{end}}{{$.d}}", "mac"),
        ("{{$x := 0}}{{range $i, $v := .l}}{{$x = $i}}{{if eq $i 1}}{{$x := 9}}{{break}}{{end}}{{end}}{{$x}}", "1"),
        ("{{range .l}}{{break}}{{else}}none{{end}}.", "."),
    ],
)
def test_a_range_is_left_or_goes_on_with_the_next_item(text: str, expected: str) -> None:
    assert printed(text, VALUES) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{{template "x"}}', 0, 'the template "x" is not defined; define it with {{define}}'),
        ('{{define "network"}}{{end}}{{template "netwrk"}}', 27, 'did you mean "network"?'),
        ('{{if .t}}{{define "x"}}{{end}}{{end}}', 9, "{{define}} must stand outside of all other actions"),
        ('{{define "x"}}{{define "y"}}{{end}}{{end}}', 14, "{{define}} must stand outside of all other actions"),
        ('{{define "x"}}a{{end}}{{define "x"}}b{{end}}', 22, 'the template "x" is defined twice'),
        ('{{define "x"}}a{{end}}{{block "x" .}}b{{end}}', 22, 'the template "x" is defined twice'),
        ('{{define "x"}}a', 0, '{{define "x"}} is not closed; close it with {{end}}'),
        ('{{define "x"}}a{{else}}{{end}}', 15, "unexpected {{else}}"),
        ("{{define x}}{{end}}", 0, "define needs a name in quotes"),
        ("{{define}}{{end}}", 0, "define needs a name in quotes"),
        ("{{template .d}}", 0, "template needs a name in quotes"),
        ('{{define "x" .}}{{end}}', 13, 'unexpected "."'),
        ('{{template "x" .d .d}}', 15, "only a function can take arguments"),
        ('{{block "x"}}{{end}}', 0, "{{block}} needs a value behind its name"),
        ("{{template `" + "x" * 101 + "`}}", 11, "the name has more than 100 characters"),
        ("{{$x := 1}}{{define `y`}}{{$x}}{{end}}", 27, "the variable $x is not defined"),
        ("{{break}}", 0, "{{break}} must stand within {{range}}"),
        ("{{range .l}}{{else}}{{continue}}{{end}}", 20, "{{continue}} must stand within {{range}}"),
        ("{{range .l}}{{block `x` .}}{{break}}{{end}}{{end}}", 27, "{{break}} must stand within {{range}}"),
        ("{{range .l}}{{break 1}}{{end}}", 20, 'unexpected "1"'),
    ],
)
def test_a_mistake_in_a_definition_is_told_with_its_place(text: str, place: int, problem: str) -> None:
    found = refusal(text, VALUES)
    assert (found.offset, found.key) == (place, None)
    assert problem in found.description


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{{define "x"}}{{template "x" .}}{{end}}{{template "x" .}}', "nest deeper than 100 levels"),
        (
            '{{define "a"}}{{template "b"}}{{end}}{{define "b"}}{{template "a"}}{{end}}{{template "a"}}',
            "nest deeper than 100 levels",
        ),
        (
            '{{define "x"}}' + "{{if true}}" * 45 + '{{template "x"}}' + "{{end}}" * 46 + '{{template "x"}}',
            "nest deeper than 100",
        ),
        ("{{block `x` .}}" * 1_000, "actions are nested deeper than 50"),
        ('{{define "x"}}' + "x" * 1000 + '{{end}}{{range .l}}{{template "x"}}{{end}}', "the output is too large"),
    ],
)
def test_definitions_nest_and_write_within_bounds(text: str, problem: str) -> None:
    assert problem in refusal(text, {"l": [*range(100_000)]}).description


def chain(levels: int, last: str) -> str:
    """Define templates each of which inserts the next one, within a control structure."""
    links = "".join(
        f'{{{{define "t{at}"}}}}{{{{if true}}}}{{{{template "t{at + 1}" .}}}}{{{{end}}}}{{{{end}}}}'
        for at in range(levels)
    )
    return f'{links}{{{{define "t{levels}"}}}}{last}{{{{end}}}}{{{{template "t0" .}}}}'


@pytest.mark.parametrize(
    ("call", "levels", "expected"),
    [
        ('regexMatch "' + "(" * 20 + "x" + ")" * 20 + '" "x"', 1, "true"),
        ("len (toJson .)", 63, str(63 * len('{"":}') + 2)),
        ("first (list .) | toYaml | contains `{}`", 63, "true"),
    ],
)
def test_the_deepest_of_all_that_may_nest_runs_at_once(call: str, levels: int, expected: str) -> None:
    deep: document.JsonObject = {}
    for _ in range(levels):
        deep = {"": deep}
    assert printed(chain(48, "{{" + "(" * 48 + call + ")" * 48 + "}}"), deep) == expected


def doubling(levels: int) -> str:
    """Define templates each of which inserts the next one twice; the last one writes nothing."""
    twice = "".join(
        f'{{{{define "t{at}"}}}}{{{{template "t{at + 1}"}}}}{{{{template "t{at + 1}"}}}}{{{{end}}}}'
        for at in range(levels)
    )
    return f'{twice}{{{{define "t{levels}"}}}}{{{{end}}}}{{{{template "t0"}}}}'


def test_definitions_that_insert_others_twice_cost_what_they_insert() -> None:
    parsed = program.parse(doubling(40))
    with pytest.raises(program.Exhausted, match="5,000 steps"):
        parsed.execute({}, program.Allowance(steps=5_000, characters=0))
    with pytest.raises(program.Exhausted, match="200,000 steps"):
        parsed.outline(program.Variant.BOTH)


def test_a_chain_of_definitions_is_as_deep_in_an_outline_as_when_it_runs() -> None:
    chain = "".join(f'{{{{define "t{at}"}}}}{{{{template "t{at + 1}"}}}}{{{{end}}}}' for at in range(5_000))
    text = f'{chain}{{{{define "t5000"}}}}{{{{end}}}}{{{{template "t0"}}}}'
    assert "nest deeper than 100 levels" in refusal(text, {}).description
    with pytest.raises(program.Fault, match="nest deeper than 100 levels"):
        program.parse(text).outline(program.Variant.BODIES)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [(program.Variant.BODIES, "b: {{.}}|"), (program.Variant.ELSES, "else|"), (program.Variant.BOTH, "b: {{.}}else|")],
)
def test_an_outline_has_what_is_inserted_and_no_definition_within_itself(
    variant: program.Variant, expected: str
) -> None:
    text = '{{define "x"}}{{if .}}b: {{.}}{{template "x" .}}{{else}}else{{end}}{{end}}{{template "x" .}}|'
    outline = program.parse(text).outline(variant)
    assert outline.fill(outline.text, is_plain=False) == expected


def test_the_nearest_name_is_looked_for_among_some_definitions() -> None:
    many = "".join(f'{{{{define "{at:0100}"}}}}{{{{end}}}}' for at in range(9_000))
    with pytest.raises(program.Fault, match="is not defined"):
        parser.parse(many + "{{template `" + "1" * 100 + "`}}")
