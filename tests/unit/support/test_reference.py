"""The generated parts of the manual are what the programs say today."""

import re

import pytest

from support import page
from support.reference import every
from tinkwell.core.unit.invariant import CHECKS


@pytest.mark.parametrize("part", every.PARTS, ids=lambda part: part.page)
def test_a_page_has_what_its_generator_writes(part: every.Part) -> None:
    text = part.path.read_text(encoding="utf-8")
    assert text == part.written(text), "run make reference"


def test_every_rule_of_an_audit_stands_in_the_page_by_its_number() -> None:
    text = (page.DOCS / "reference/unit-events.md").read_text(encoding="utf-8")
    for check in CHECKS:
        numbers = re.findall(r"\b[ILJ]\d+\b", (check.__doc__ or "").splitlines()[0].partition(":")[0])
        assert numbers, check.__name__
        assert all(re.search(rf"\| [^|]*\b{number}\b[^|]*\|", text) for number in numbers)
