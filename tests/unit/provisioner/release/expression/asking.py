"""Calls of the child's module within the test's own process."""

import json
from typing import Any

from tinkwell.provisioner.release.expression import child

RELEASE = {"name": "shop", "namespace": "default", "revision": 3, "is_install": False, "is_upgrade": True}


def ask(call: str, **request: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the answer, and what is wrong by its field; both as they come through JSON."""
    given = json.loads(json.dumps({"call": call, **request}))
    answer = json.loads(json.dumps(child.handle(given, lambda _: None)))
    problems = answer.pop("problems", [])
    assert len({field for field, _ in problems}) == len(problems)
    return answer, dict(problems)


def render(resources: Any, variables: Any = None, **others: Any) -> tuple[dict[str, Any], dict[str, str]]:
    manifest = {"resources": resources, **others}
    return ask("render", manifest=manifest, variables=variables or {}, release=RELEASE)


def rendered(resources: Any, variables: Any = None, **others: Any) -> dict[str, Any]:
    answer, problems = render(resources, variables, **others)
    assert not problems
    return answer


def refused(resources: Any, variables: Any = None, **others: Any) -> dict[str, str]:
    answer, problems = render(resources, variables, **others)
    assert not answer
    return problems
