"""Tabs in the file of rules, which is YAML like all the others."""

import pytest

from tinkwell.provisioner.automation.rule import file as rule_file

TABBED = """\
name:\tset\t# why
rules:
  - name:\tone
    on:\t{event_type: WORKFLOW_TIMEOUT}
    do: {command: {argv:\t[x]}}
"""


def test_a_tab_may_stand_between_the_tokens_of_a_line() -> None:
    [rule] = rule_file.parse(TABBED, None, source="rules.yaml").rules
    assert rule.name == "one"


def test_a_tab_that_would_indent_is_told_as_such() -> None:
    with pytest.raises(rule_file.RuleError, match=r"a tab indents this line; write spaces instead in line 2, column 1"):
        rule_file.parse("name: set\n\trules: []\n", None, source="rules.yaml")
