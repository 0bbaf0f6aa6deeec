"""The template language: what it prints, where its mistakes are, and that it always ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkwell.core.template.gotemplate import program
from tinkwell.core.value import document

VALUES = document.parse_json_object(
    "hardware",
    """{"d": "mac", "d_2": "x", "a-b": "dashed", "n": 1000000, "big": 12345678901234567890, "f": 1.10, "e": 1e21,
        "z": null, "l": ["a", "b"], "o": {"e": "x", "k-k": {"v": 7}}, "t": true, "no": false, "s": "héllo", "i": 60,
        "empty": "", "none": [], "D": "upper"}""",
)


def printed(text: str) -> str:
    output = program.parse(text).execute(VALUES)
    return output.fill(output.text, is_plain=False)


def fault(text: str) -> tuple[str, str, tuple[str, ...] | None]:
    with pytest.raises(program.Fault) as refused:
        program.parse(text).execute(VALUES)
    return program.place(text, refused.value.offset), refused.value.description, refused.value.key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a } }} b", "a } }} b"),
        ("{{.d}}", "mac"),
        ("{{ .d }}", "mac"),
        ("{{\t.d\n}}", "mac"),
        ("{{.d}}{{.d_2}}", "macx"),
        ("{{.D}}", "upper"),
        ("{{.o.e}}", "x"),
        ("{{$.o.e}}", "x"),
        ("{{(.o).e}}", "x"),
        ("{{index . `a-b`}}", "dashed"),
        ('{{index . "a-b"}}', "dashed"),
        ('{{index .o "k-k" "v"}}', "7"),
        ("{{index .l 1}}", "b"),
        ("{{index .s 0}}", "104"),
        ("{{(index .l 0)}}", "a"),
        ('{{(index .o "k-k").v}}', "7"),
    ],
)
def test_references_print_their_values(text: str, expected: str) -> None:
    assert printed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{.n}}", "1000000"),
        ("{{.big}}", "12345678901234567890"),
        ("{{.f}}", "1.10"),
        ("{{.e}}", "1" + "0" * 21),
        ("{{.t}} {{.no}}", "true false"),
        ("{{.empty}}", ""),
        ("{{-3}}", "-3"),
        ("{{ 0x10 }} {{0b11}} {{0o17}} {{017}} {{1_000}} {{1.5e3}} {{.5}} {{+2}}", "16 3 15 15 1000 1500 0.5 2"),
        ("{{`raw\\n`}} {{'a'}} {{'\\n'}}", "raw\\n 97 10"),
        (r'{{"\x41\u00e9\U0001f600\101\n\t\"\\\a"}}', 'Aé\U0001f600A\n\t"\\\a'),
        (r'{{"\xc3\xa9"}}', "é"),
        ("{{true}} {{false}}", "true false"),
        ('{{"}}"}}{{"{{"}}', "}}{{"),
    ],
)
def test_constants_and_values_print_exactly(text: str, expected: str) -> None:
    assert printed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {{- .d -}} b", "amacb"),
        ("a\n\t {{- .d }} b", "amac b"),
        ("a {{ .d -}}\r\n b", "a macb"),
        ("a {{- /* comment */ -}} b", "ab"),
        ("a{{/* {{.x}} \n */}}b", "ab"),
        ("{{- -3}}", "-3"),
        ("a {{- 3}}", "a3"),
        ("a {{-3}}", "a -3"),
    ],
)
def test_trim_markers_and_comments_leave_no_trace(text: str, expected: str) -> None:
    assert printed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{if .t}}1{{end}}", "1"),
        ("{{if .no}}1{{else}}2{{end}}", "2"),
        ("{{if .no}}1{{else if eq .d `mac`}}2{{else}}3{{end}}", "2"),
        ("{{if .no}}1{{else if .empty}}2{{else if .none}}3{{else}}4{{end}}", "4"),
        ("{{if .z}}1{{else}}2{{end}}{{if 0}}1{{else}}2{{end}}{{if .o}}1{{end}}", "221"),
        ("{{with .o}}{{.e}}{{$.d}}{{end}}", "xmac"),
        ("{{with .z}}1{{else}}{{.d}}{{end}}", "mac"),
        ("{{with .no}}1{{else with .o}}{{.e}}{{end}}", "x"),
        ("{{with $x := .o}}{{$x.e}}{{.e}}{{end}}", "xx"),
        ("{{range .l}}{{.}},{{end}}", "a,b,"),
        ("{{range $v := .l}}{{$v}}{{.}},{{end}}", "aa,bb,"),
        ("{{range $i, $v := .l}}{{$i}}={{$v}},{{end}}", "0=a,1=b,"),
        ("{{range $k, $v := .o}}{{$k}},{{end}}", "e,k-k,"),
        ("{{range .none}}1{{else}}2{{end}}{{range .z}}1{{else}}2{{end}}", "22"),
        ("{{$x := .d}}{{range .l}}{{$x = print $x .}}{{end}}{{$x}}", "macab"),
        ("{{$x := 1}}{{if .t}}{{$x := 2}}{{$x}}{{end}}{{$x}}", "21"),
        ("{{$x := 1}}{{range .l}}{{if $x}}{{$x = 0}}{{else}}, {{end}}{{.}}{{end}}", "a, b"),
    ],
)
def test_control_structures_write_what_the_values_ask_for(text: str, expected: str) -> None:
    assert printed(text) == expected


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("{{.d", "line 1, column 1", "not closed; close it with }}"),
        ("a\n  {{.d\nb: {{.e}}", "line 3, column 2", 'unexpected ":"'),
        ("{{.d {{.d}}", "line 1, column 1", "not closed"),
        ("{{}}", "line 1, column 1", "is empty"),
        ("{{/* x }}", "line 1, column 1", "comment is not closed"),
        ("{{end}}", "line 1, column 1", "{{end}} closes nothing"),
        ("{{else}}", "line 1, column 1", "closes nothing"),
        ("a {{if .d}}", "line 1, column 3", "{{if .d}} is not closed; close it with {{end}}"),
        ("{{if .t}}{{else}}{{else}}{{end}}", "line 1, column 18", "unexpected {{else}}"),
        ("{{if .t}}{{end .d}}", "line 1, column 10", "unexpected {{end .d}}"),
        ("{{if .t}}{{else .d}}{{end}}", "line 1, column 17", "after else"),
        ("{{range .l}}{{else range .l}}{{end}}", "line 1, column 20", "after else"),
        ("{{if}}{{end}}", "line 1, column 1", "a value is missing"),
        ("{{.d | }}", "line 1, column 1", "a value is missing"),
        ("{{()}}", "line 1, column 4", "a value is missing"),
        ("{{(.d}}", "line 1, column 1", "closing parenthesis is missing"),
        ("{{.d)}}", "line 1, column 5", 'unexpected ")"'),
        ("{{$x}}", "line 1, column 3", "the variable $x is not defined"),
        ("{{$x = 1}}", "line 1, column 3", "the variable $x is not defined"),
        ("{{if $x := .d}}{{end}}{{$x}}", "line 1, column 25", "the variable $x is not defined"),
        ("{{if .t}}{{$x := 1}}{{else}}{{$x}}{{end}}", "line 1, column 31", "the variable $x is not defined"),
        ("{{$ := 1}}", "line 1, column 3", "only variables such as $x can be set"),
        ("{{.x := 1}}", "line 1, column 3", "only variables such as $x can be set"),
        ("{{$x, $y := .l}}", "line 1, column 3", "by range only"),
        ("{{$x := 1}}{{if $x = 2}}{{end}}", "line 1, column 12", "with :="),
        (
            "{{foo .d}}",
            "line 1, column 3",
            'the function "foo" is not defined; write .foo for a value, and {{`{{`}} for',
        ),
        ("{{call .d}}", "line 1, column 3", 'the function "call" is not defined; no value is a function'),
        (
            "{{.d | hasPrefx `m`}}",
            "line 1, column 8",
            'the function "hasPrefx" is not defined; did you mean hasPrefix?',
        ),
        ("{{now}}", "line 1, column 3", "it would be another value each time; give one when the workflow is created"),
        (
            "{{sha1sum .d}}",
            "line 1, column 3",
            "left out here; give what it would make as a value when the workflow is",
        ),
        ("{{mustToJson .d}}", "line 1, column 3", "did you mean toJson?"),
        ("{{env `HOME`}}", "line 1, column 3", "a template sees the values of its workflow alone; give it there"),
        ("{{.a-b}}", "line 1, column 5", "unexpected"),
        ("{{.a .b}}", "line 1, column 3", "only a function can take arguments"),
        ("{{.a | .b}}", "line 1, column 8", "only a function can take arguments"),
        ("{{1 2}}", "line 1, column 3", "only a function can take arguments"),
        ('{{print "a""b"}}', "line 1, column 12", "leave a space"),
        ("{{eq len .l 2}}", "line 1, column 6", "in parentheses"),
        ('{{"a}}', "line 1, column 3", "quoted text is not closed"),
        ('{{"a\n"}}', "line 1, column 3", "quoted text is not closed"),
        (r'{{"\q"}}', "line 1, column 3", "unknown escape"),
        (r'{{"\xff"}}', "line 1, column 3", "not UTF-8"),
        (r'{{"\ud800"}}', "line 1, column 3", "not UTF-8"),
        ("{{'ab'}}", "line 1, column 3", "one character"),
        ("{{1x}}", "line 1, column 3", '"1x" is not a number'),
        ("{{1__0}}", "line 1, column 3", "is not a number"),
        ("{{1e9999}}", "line 1, column 3", "is not a number"),
        ("{{1e309}}", "line 1, column 3", "is not a number"),
        ("{{" + "1" * 65 + "}}", "line 1, column 3", "is not a number"),
        ("a\ufdd00\ufdd1", "line 1, column 2", "U+FDD0 is reserved"),
    ],
)
def test_a_mistake_of_the_template_is_told_with_its_place(text: str, place: str, problem: str) -> None:
    found_place, description, key = fault(text)
    assert (found_place, key) == (place, None)
    assert problem in description


@pytest.mark.parametrize(
    ("text", "problem", "key"),
    [
        ("{{.x}}", 'map has no entry for key "x"', ("x",)),
        ("{{.o.x}}", 'map has no entry for key "x"', ("o", "x")),
        ("{{$.o.x}}", 'map has no entry for key "x"', ("o", "x")),
        ("{{if .x}}{{end}}", 'map has no entry for key "x"', ("x",)),
        ("{{.d.x}}", '.d is a string and has no entry "x"', ("d",)),
        ("{{.z.x}}", '.z is null and has no entry "x"', ("z",)),
        ("{{.l.x}}", '.l is a list and has no entry "x"', ("l",)),
        ("{{with .o}}{{.x}}{{end}}", 'map has no entry for key "x"', ()),
        ("{{.z}}", "{{.z}}: the value is null", ("z",)),
        ("{{.l}}", "{{.l}}: the value is a list", ("l",)),
        ("{{.o}}", "{{.o}}: the value is an object", ("o",)),
        ("{{.}}", "{{.}}: the value is an object", ()),
        ("{{with .o}}{{.}}{{end}}", "{{.}}: the value is an object", ()),
        ('{{index . "x"}}', "the value is null", ()),
        ("{{range .d}}{{end}}", "range needs a list or an object; .d is a string", ("d",)),
        ("{{range 5}}{{end}}", "5 is a number", ()),
    ],
)
def test_a_mistake_of_the_values_names_their_key(text: str, problem: str, key: tuple[str, ...]) -> None:
    _, description, found_key = fault(text)
    assert found_key == key
    assert problem in description


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{{range .l}}{{range $.l}}{{end}}{{end}}", "1,000,000 steps"),
        ("{{$x := .s}}{{range .l}}{{$x = print $x $x}}{{end}}", "takes at most 1,048,576 characters"),
        ("{{$x := .s}}{{range .l}}{{$x = html $x `&`}}{{end}}", "16,777,216 characters"),
        ("{{range .l}}{{$.s}}{{end}}", "the output is too large"),
        ("{{range .l}}text of some length{{end}}", "the output is too large"),
        ("{{range .l}}{{if eq $.b $.s}}{{end}}{{end}}", "16,777,216 characters"),
        ("{{range .l}}{{$x := slice $.l 1}}{{end}}", "16,777,216 characters"),
        ("{{print " + ".s " * 20_000 + "}}", "print is given too much"),
        ("{{print " + ".b " * 1_000 + "}}", "print is given too much"),
        ("{{range .l}}{{$x := printf `%q-` $.b}}{{end}}", "16,777,216 characters"),
        ("{{" + "(" * 1_000 + "1" + ")" * 1_000 + "}}", "parentheses are nested deeper than 50"),
        ("{{if .s}}" * 1_000, "actions are nested deeper than 50"),
        ("{{if .s}}" + "{{else if .s}}" * 1_000, "actions are nested deeper than 50"),
        ("{{1}}" * 20_001, "more than 20,000 actions"),
        ("{{$x := 1}}" * 201, "more than 200 variables"),
        ("{{" * 100_000, "not closed"),
        ("{{/*" * 100_000, "not closed"),
        ('{{"' + '\\"' * 400_000, "not closed"),
        ("{{" + " " * 900_000, "not closed"),
    ],
)
def test_a_hostile_template_ends_soon(text: str, problem: str) -> None:
    values: document.JsonObject = {"l": list(range(100_000)), "s": "s" * 100, "b": "b" * 1_000_000}
    with pytest.raises(program.Fault) as refused:
        program.parse(text).execute(values)
    assert problem in refused.value.description
    assert len(refused.value.description) < 300


def test_the_limits_themselves_are_allowed() -> None:
    assert printed("{{1}}" * 20_000) == "1" * 20_000
    assert printed("{{if .t}}" * 50 + "x" + "{{end}}" * 50) == "x"
    assert printed("{{" + "(" * 50 + "1" + ")" * 50 + "}}") == "1"
    assert printed("{{$x := 1}}" * 199 + "{{$x}}") == "1"


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (program.Variant.BODIES, "a {{ .d }} 1 3 {{.}}"),
        (program.Variant.ELSES, "a {{ .d }} 2 e"),
        (program.Variant.BOTH, "a {{ .d }} 12 3 {{.}}e"),
    ],
)
def test_an_outline_keeps_the_source_of_what_it_prints(variant: program.Variant, expected: str) -> None:
    text = "a {{ .d }} {{if .x}}1{{else}}2{{end}} {{$y := 1}}{{range .l}}3 {{.}}{{else}}e{{end}}"
    outline = program.parse(text).outline(variant)
    assert outline.is_outline
    assert outline.fill(outline.text, is_plain=False) == expected


def test_places_in_the_output_are_places_in_the_template() -> None:
    text = "one: 1\n{{- range .l}}\n{{.}}: {{$.s}} two\n{{- end}}\nthree: 3"
    output = program.parse(text).execute({"l": ["a", "b"], "s": "long value"})
    assert output.place(0) == "line 1, column 1"
    assert output.place(output.text.index(" two")) == "line 3, column 15"
    assert output.place(output.text.rindex(" two")) == "line 3, column 15"
    assert output.place(output.text.index("three")) == "line 5, column 1"
    first_token = output.text.index("\ufdd0")
    assert [output.place(first_token + at) for at in range(3)] == ["line 3, column 1"] * 3


def test_values_are_not_looked_at_again() -> None:
    values: document.JsonObject = {"a": "{{.b}} \ufdd01\ufdd1", "b": "\ufdd00\ufdd1"}
    output = program.parse("{{.a}}|{{.b}}").execute(values)
    assert output.fill(output.text, is_plain=False) == "{{.b}} \ufdd01\ufdd1|\ufdd00\ufdd1"


@given(st.text(alphabet="{}.-|()$\"'`:=,/* \nabeifndlsrg01\\", max_size=40))
def test_every_text_is_run_or_refused(text: str) -> None:
    offset = 0
    try:
        program.parse(text).execute({"a": "x", "b": ["y"]})
    except program.Fault as refused:
        offset = refused.offset
    assert 0 <= offset <= len(text)


@given(st.text(alphabet=st.characters(exclude_characters="{\ufdd0\ufdd1")))
def test_text_without_actions_stays_as_it_is(text: str) -> None:
    assert program.parse(text).execute({}).text == text
