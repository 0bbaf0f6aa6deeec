"""Values that `indent` and `nindent` write: YAML takes off of their lines what it takes off of the text around them."""

import pytest

from tinkwell.core import errors
from tinkwell.core.template import template
from tinkwell.core.template.gotemplate import program
from tinkwell.core.value import document

VALUES: document.JsonObject = {"v": "one\n two\n\nthree\n", "s": "x", "w": 4, "e": ""}


HEAD = 'version: "0.1"\nname: n\ntasks:\n- name: t\n  worker: w\n  actions:\n  - name: a\n    image: i\n'


def rendered(contents: str, values: document.JsonObject = VALUES) -> str:
    """Render the only variable of a template; `contents` stands behind `KEY:` at the sixth column."""
    text = f"{HEAD}    environment:\n      KEY: {contents}\n"
    template.parse_template(text)
    return template.render(text, values).actions[0].environment[0].removeprefix("KEY=")


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ("|\n        a:\n{{ indent 8 .v }}\n        z", "a:\none\n two\n\nthree\nz\n"),
        ("|\n        a:\n{{ indent 10 .v }}\n        z", "a:\n  one\n   two\n  \n  three\nz\n"),
        ("|\n        a:\n          {{- .v | nindent 10 }}\n        z", "a:\n  one\n   two\n  \n  three\nz\n"),
        ("|\n        a:\n        {{ .v | indent 2 }}\n        z", "a:\n  one\n two\n\nthree\nz\n"),
        ("|-\n        {{- .v | nindent 8 }}", "one\n two\n\nthree"),
        (
            "|\n        - |\n          {{- .v | nindent 10 }}\n        - z: {{ .s | indent 2 }}",
            "- |\n  one\n   two\n  \n  three\n- z:   x\n",
        ),
        ("|\n        a{{ nindent 8 .e }}b", "a\nb\n"),
        ("{{ .v | nindent 8 }}", "one\n two\n\nthree"),
        ('"{{ .s | indent 2 }}"', "  x"),
        ("|\n        {{ print (indent 2 .s) }}|", "  x|\n"),
        ("|\n        {{ indent .w .s }}|", "    x|\n"),
    ],
)
def test_lines_are_indented_as_their_text_is(contents: str, expected: str) -> None:
    assert rendered(contents) == expected


HOSTILE = [
    "\nEVIL: x\n",
    "a\n      EVIL: x",
    "\n- name: evil\n  image: evil\n",
    "|\n x",
    "'",
    '"',
    "# c",
    "\r\n\x85",
    "\ufdd00\ufdd1",
    ": ",
    "---\n...",
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    "contents",
    ["|\n        {{- .v | nindent 8 }}", "|\n{{ indent 8 .v }}", "{{ .v | nindent 8 }}", '"{{ .v | nindent 8 }}"'],
)
def test_an_indented_value_is_a_part_of_one_text(contents: str, value: str) -> None:
    text = rendered(contents, {"v": value})
    assert text.replace(" ", "").replace("\n", "") == value.replace(" ", "").replace("\n", "")


def test_a_value_that_is_meant_to_be_a_list_is_refused_with_what_to_do() -> None:
    text = f"{HEAD}    command: {{{{ toYaml .l | nindent 6 }}}}\n"
    with pytest.raises(errors.InvalidField) as refused:
        template.render(text, {"l": ["a"]})
    assert "write the items with {{range}}" in refused.value.violations[0].description


def test_what_indentation_adds_counts_as_output() -> None:
    text = "{{range .l}}{{indent 100 $.v}}{{end}}"
    with pytest.raises(program.Fault, match="the output is too large"):
        program.parse(text).execute({"l": [*range(50)], "v": "\n" * 2_000})


def test_a_long_line_is_not_looked_through_for_each_value() -> None:
    output = program.parse("{{range .l}}{{indent 1 $.v}}{{end}}").execute({"l": [*range(20_000)], "v": "a\nb"})
    assert len(output.fill(output.text, is_plain=False)) > 60_000


def test_an_outline_knows_the_place_of_an_indented_value() -> None:
    output = program.parse("a:\n{{indent 4 .v}} b").outline(program.Variant.BODIES)
    assert output.text.startswith("a:\n    ")
    assert [output.place(at) for at in (3, 6, 7)] == ["line 2, column 1"] * 3
