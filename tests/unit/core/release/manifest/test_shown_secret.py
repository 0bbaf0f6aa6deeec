"""What is wrong with a manifest that a handler has made is told so that a secret in it is known, and masked."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tinkwell.core import errors
from tinkwell.core.release.manifest import changed
from tinkwell.core.release.manifest.rendered import RenderedManifest
from tinkwell.core.secret.mask import Masker

PIECES = ("qwertzuiopa", "yxcvbnmlkjh", "1928374655a")
# What a text may be split at, and what is escaped in messages.
BETWEEN = [*"/:[].@~=#, \"'\\é\t\x1b\xa0(*-%\n", "//", "::", "~1", "{{", "\r\n"]
FORMER: Any = {"plugs": {}, "resources": {"a": {"type": "thing", "config": {}}}, "outputs": {}}
FIELDS = ["timeouts", "retries", "concurrency_key", "ignore", "sensitive", "keep", "hook", "readonly", "config"]


def with_secret(secret: str) -> Iterator[Any]:
    """Yield manifests that have a secret where none may be."""

    def resource(**members: Any) -> Any:
        return {**FORMER, "resources": {"a": {"type": "thing", **members}}}

    for image in ("{}", "acme/{}", "acme/x:{}", "acme/x@{}", "{}/x"):
        yield resource(type=image.format(secret))
    for path in ("{}", "a[{}]", "c:{}", "{}:a"):
        yield {**FORMER, "resources": {path.format(secret): {"type": "thing"}}}
        yield resource(dependencies={"b": path.format(secret)})
        yield {**FORMER, "plugs": {path.format(secret): {"path": "x"}}}
    for name, value in itertools.product(FIELDS, (secret, [secret], ["/" + secret], {secret: secret})):
        yield resource(**{name: value})
    for members in ({"dependencies": {secret: "a"}}, {"hook": {"events": [secret], "weight": secret}}, {secret: 1}):
        yield resource(**members)
    for plug in ({"path": secret}, {"path": f"/{secret}"}, {"path": "x", "resource_names": [secret, f"({secret}"]}):
        yield {**FORMER, "plugs": {"x": plug}}
    yield {**FORMER, secret: 1}


@pytest.mark.parametrize("between", BETWEEN)
def test_no_piece_of_a_secret_is_told_whatever_it_is_made_of(between: str) -> None:
    secret = between.join(PIECES)
    masker, former, refused = Masker([secret]), RenderedManifest.from_json(FORMER, {}), 0
    for manifest in with_secret(secret):
        try:
            changed.read(former, manifest)
        except errors.InvalidField as error:
            refused += 1
            told = masker.mask_excerpt(str(error))
            assert [piece for piece in PIECES if piece[:6] in told or piece[-6:] in told] == []
    assert refused > 30
