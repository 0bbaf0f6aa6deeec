"""Functions that write values in another form, and those of Tinkerbell."""

import decimal

import pytest
import ruamel.yaml
from hypothesis import given
from hypothesis import strategies as st
from unit.core.template.gotemplate.printing import printed, refusal

from tinkwell.core.template.gotemplate.fault import BadArgument
from tinkwell.core.template.gotemplate.function import notation
from tinkwell.core.value import document

VALUES = document.parse_json_object(
    "hardware",
    """{"s": "a \\"b\\" <&>\\u2028\\u0001\\n", "n": 1.50, "z": null, "l": ["x", 1, true, []],
        "o": {"b": {"c": []}, "a": null}, "disk": "/dev/sda",
        "text": "{\\"a\\": [1, 2.50]}", "lines": "one\\n two\\n"}""",
)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("{{toJson .s}}", '"a \\"b\\" \\u003c\\u0026\\u003e\\u2028\\u0001\\n"'),
        ("{{toRawJson .s}}", '"a \\"b\\" <&>\\u2028\\u0001\\n"'),
        ("{{toJson .n}} {{toJson .z}} {{toJson true}} {{.l | toJson}}", '1.50 null true ["x",1,true,[]]'),
        ("{{toJson .o}} {{toJson (dict)}}", '{"a":null,"b":{"c":[]}} {}'),
        ("{{toPrettyJson .o}}", '{\n  "a": null,\n  "b": {\n    "c": []\n  }\n}'),
        ("{{toPrettyJson .l}}", '[\n  "x",\n  1,\n  true,\n  []\n]'),
        ("{{(fromJson .text).a | join `;`}} {{fromJson `7`}}", "1;2.50 7"),
        ("{{toYaml .o}}", "a: null\nb:\n  c: []"),
        ("{{toYaml .l}}", "- x\n- 1\n- true\n- []"),
        ("{{toYaml (dict `list` (list (dict `a` 1 `b` (list 2)) `no`))}}", 'list:\n- a: 1\n  b:\n  - 2\n- "no"'),
        ("{{toYaml (dict `k` .lines)}}", "k: |\n  one\n   two"),
        ("{{toYaml (list .lines `x`)}}", "- |\n  one\n   two\n- x"),
        ("{{toYaml .lines}}", "|\n  one\n   two"),
        ("{{toYaml `52:54:00:10:00:03`}} {{toYaml .z}}", '"52:54:00:10:00:03" null'),
        ("{{b64enc `héllo`}} {{b64dec `aMOpbGxv`}} {{b64enc ``}}|", "aMOpbGxv héllo |"),
        ('{{b64dec "aMOp\\nbGxv\\n"}}', "héllo"),
        ("{{sha256sum `abc`}}", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("{{base .disk}} {{base `a/`}} {{base ``}} {{base `//`}}", "sda a . /"),
        ("{{dir .disk}} {{dir `a`}} {{dir `/`}} {{dir `//a`}} {{dir `a/b/../c`}}", "/dev . / / a"),
        ("{{formatPartition .disk 1}} {{formatPartition `/dev/nvme0n1` 12}}", "/dev/sda1 /dev/nvme0n1p12"),
        (
            "{{formatPartition `/dev/disk/by-id/x` 2}} {{formatPartition `/dev/loop0` 3}}",
            "/dev/disk/by-id/x-part2 /dev/loop0p3",
        ),
        ("{{netmaskToPrefixLength `255.255.255.0`}} {{netmaskToPrefixLength `0.0.0.0`}}", "24 0"),
        ("{{netmaskToPrefixLength `255.255.255.255`}} {{netmaskToPrefixLength `255.255.240.0`}}", "32 20"),
    ],
)
def test_a_value_takes_another_form(action: str, expected: str) -> None:
    assert printed(action, VALUES) == expected


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("{{fromJson `{`}}", "fromJson: line 1, column 2"),
        ('{{fromJson `{"a": 1, "a": 2}`}}', "fromJson: "),
        ("{{fromJson .l}}", "fromJson needs text in place of a list"),
        ("{{b64dec `%`}}", "b64dec is given what is not text in base64"),
        ("{{b64dec `/w==`}}", "b64dec is given what is not text in base64"),
        ("{{b64enc .n}}", "b64enc needs text in place of a number"),
        ("{{formatPartition .disk `1`}}", "formatPartition needs a whole number in place of a string; atoi makes"),
        ("{{formatPartition .z 1}}", "formatPartition needs text in place of null"),
        ("{{formatPartition `` 1}}", "formatPartition needs a device, such as /dev/sda"),
        ("{{formatPartition .disk}}", "formatPartition needs 2 arguments and has 1"),
        ("{{netmaskToPrefixLength `255.0.255.0`}}", "needs a netmask such as 255.255.255.0 in place of"),
        ("{{netmaskToPrefixLength `24`}}", "needs a netmask such as 255.255.255.0 in place of"),
        ("{{netmaskToPrefixLength `ffff::`}}", "needs a netmask such as 255.255.255.0 in place of"),
        ("{{fromYaml `a: 1`}}", 'the function "fromYaml" is not defined; give the value as an object'),
    ],
)
def test_what_has_no_other_form_is_refused(action: str, problem: str) -> None:
    assert problem in refusal(action, VALUES).description


@pytest.mark.parametrize("name", ["toJson", "toRawJson", "toPrettyJson", "toYaml"])
def test_a_long_form_is_refused_before_it_is_made(name: str) -> None:
    values: document.JsonObject = {"l": ["\x01" * 1_000] * 100}
    assert f"{name} makes more than 262,144 characters" in refusal(f"{{{{{name} .l}}}}", values).description


def test_what_is_nested_too_deeply_is_not_written() -> None:
    deep: document.JsonValue = 1
    for _ in range(2_000):
        deep = [deep]
    with pytest.raises(BadArgument, match="nested deeper than 64 levels"):
        notation.yaml_text("toYaml", deep)
    with pytest.raises(BadArgument, match="nested deeper than 64 levels"):
        notation.json_text("toJson", deep, is_escaped=True)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(
        ["yes", "~", "- a", "a: b", "#", "|", "a\nb", "a\n\n", "\n", " a", "0x1", "1e3", "2001-01-01", "<<", ""]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab:-# \n"1~', max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_what_is_written_is_read_as_the_same_value(item: document.JsonValue) -> None:
    assert document.parse_json("", notation.json_text("toJson", item, is_escaped=True)) == item
    assert document.parse_json("", notation.json_text("toJson", item, is_escaped=False, is_pretty=True)) == item
    written = notation.yaml_text("toYaml", item)
    assert ruamel.yaml.YAML(typ="safe", pure=True).load(written + "\n") == item


def test_numbers_are_written_exactly() -> None:
    item: document.JsonValue = [decimal.Decimal("1.10"), 10**30]
    assert notation.json_text("toJson", item, is_escaped=True) == f"[1.10,{10**30}]"
    assert notation.yaml_text("toYaml", item) == f"- 1.10\n- {10**30}"
