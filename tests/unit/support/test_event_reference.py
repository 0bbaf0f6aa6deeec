"""What the reference of events says is what the rules do."""

import re

from support import event_reference
from tinkwell.core.unit.invariant import CHECKS


def test_the_page_has_the_tables_that_the_rules_give() -> None:
    text = event_reference.PAGE.read_text(encoding="utf-8")
    assert text == event_reference.written(text), "run make event-reference"


def test_every_rule_of_an_audit_stands_in_the_page_by_its_number() -> None:
    text = event_reference.PAGE.read_text(encoding="utf-8")
    for check in CHECKS:
        numbers = re.findall(r"\b[ILJ]\d+\b", (check.__doc__ or "").splitlines()[0].partition(":")[0])
        assert numbers, check.__name__
        assert all(re.search(rf"\| [^|]*\b{number}\b[^|]*\|", text) for number in numbers)
