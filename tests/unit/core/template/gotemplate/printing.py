"""What tests of the template language share: a text that is run, and what it prints or why it is refused."""

import pytest

from tinkwell.core.template.gotemplate import program
from tinkwell.core.value import document


def printed(text: str, values: document.JsonObject) -> str:
    output = program.parse(text).execute(values)
    return output.fill(output.text, is_plain=False)


def refusal(text: str, values: document.JsonObject) -> program.Fault:
    with pytest.raises(program.Fault) as refused:
        program.parse(text).execute(values)
    return refused.value
