"""What is found in a text that is evaluated late, without evaluating it."""

import pytest

from tinkwell.core.release.manifest import late


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ subcharts.db.outputs.url }}", {"db"}),
        ("{{ subcharts['my-db'].outputs.url }}", {"my-db"}),
        ('{{ subcharts [ "db" ] }}{{ subcharts\n. web }}', {"db", "web"}),
        ("{{ subcharts.a ~ subcharts.b.outputs }}", {"a", "b"}),
        ("{{ my_subcharts.a }}", set()),
        ("{{ subcharts }}", set()),
        ("{{ subcharts[x] }}", set()),
        ("{{ subcharts['a\"] }}{{ subcharts['a\n'] }}", set()),
        ("subcharts [ 'db" * 20_000, set()),
        ("subcharts" + " " * 200_000, set()),
    ],
)
def test_the_names_behind_subcharts_are_found(text: str, found: set[str]) -> None:
    assert late.named_subcharts(text) == found


@pytest.mark.parametrize(
    ("text", "is_named"),
    [("{{ inputs.a }}", True), ("{{inputs}}", True), ("{{ my_inputs }}", False), ("{{ inputs2 }}", False)],
)
def test_it_is_known_whether_inputs_may_be_named(text: str, is_named: bool) -> None:
    assert late.names_inputs(text) is is_named
