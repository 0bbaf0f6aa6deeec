"""Which endpoints a relation joins, and which charm may take the place of another one."""

import pytest

from tinkwell.core import errors
from tinkwell.core.charm import match, metadata
from tinkwell.core.charm.match import End, Pair, Reference
from tinkwell.core.charm.record import Manifest
from tinkwell.core.unit.kinds import Profile


def manifest(text: str) -> Manifest:
    return metadata.read_manifest({"charm.yaml": text})[0]


WEB = manifest(
    "name: web\nprovides: {site: http}\nrequires: {db: postgresql, cache: redis, old-db: postgresql}\npeers: {ring: r}"
)
PG = manifest("name: pg\nprovides: {db: postgresql, admin: http}\nrequires: {proxy: http}")
LONE = manifest("name: lone")
MANIFESTS = {"web": WEB, "pg": PG, "lone": LONE, "two": WEB}


def matched(first: str, second: str) -> Pair:
    return match.match(match.parse_reference("first", first), match.parse_reference("second", second), MANIFESTS)


@pytest.mark.parametrize(
    ("first", "second", "pair"),
    [
        ("web:db", "pg", Pair(End("pg", "db"), End("web", "db"), "postgresql")),
        ("pg", "web:db", Pair(End("pg", "db"), End("web", "db"), "postgresql")),
        ("pg:db", "web:old-db", Pair(End("pg", "db"), End("web", "old-db"), "postgresql")),
        ("web:site", "pg", Pair(End("web", "site"), End("pg", "proxy"), "http")),
        ("pg:proxy", "web", Pair(End("web", "site"), End("pg", "proxy"), "http")),
    ],
)
def test_the_one_pair_that_fits_is_found(first: str, second: str, pair: Pair) -> None:
    assert matched(first, second) == pair


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("web", "web", "web and web: an application is not related to itself; declare a peer endpoint"),
        ("web:ring", "pg", "ring of web is a peer endpoint, which relates its units already"),
        ("web:d", "pg", 'web has no endpoint "d"; did you mean db?'),
        ("lone:x", "pg", 'lone has no endpoint "x"; there are none'),
        (
            "web",
            "two",
            "no endpoint of one provides an interface that one of the other requires; web provides http and",
        ),
        ("web:cache", "pg", "web:cache requires redis, pg provides http and provides postgresql and requires http"),
        ("lone", "pg", "lone has no endpoints"),
        ("web", "pg", "several pairs fit: web:site with pg:proxy, pg:db with web:db, pg:db with web:old-db; name the"),
    ],
)
def test_what_does_not_fit_is_refused_with_one_clear_sentence(first: str, second: str, sentence: str) -> None:
    with pytest.raises(errors.EndpointMismatch) as caught:
        matched(first, second)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("text", ["", "Web", "web:", "web:DB", ":db", "web:db:x", "web/0"])
def test_a_reference_has_a_form(text: str) -> None:
    with pytest.raises(errors.InvalidField):
        match.parse_reference("first", text)
    assert match.parse_reference("first", "web") == Reference("web")


def refused(new: str, *, related: tuple[str, ...] = (), stored: tuple[str, ...] = (), profile: Profile) -> list[str]:
    try:
        match.check_refresh(WEB, manifest(new), related=related, stored=stored, profile=profile)
    except errors.CharmRefused as error:
        return [f"{violation.field}: {violation.description}" for violation in error.violations]
    return []


@pytest.mark.parametrize("profile", Profile)
def test_a_charm_may_lack_what_nothing_uses(profile: Profile) -> None:
    assert refused("name: web\npeers: {ring: r}", related=("ring",), profile=profile) == []
    assert refused("name: web\npeers: {ring: r}\nprovides: {more: http}", related=("ring",), profile=profile) == []


@pytest.mark.parametrize(
    ("new", "related", "stored", "sentence"),
    [
        ("name: web\nkind: native", (), (), "kind: is native, and the application's is scripts; deploy another appl"),
        ("name: web", ("db",), (), "requires.db: is missing, and db is related; remove its relations first"),
        ("name: web", ("ring",), (), "peers.ring: is missing, and ring is related; remove its relations first"),
        ("name: web\nprovides: {db: postgresql}", ("db",), (), "requires.db: is another endpoint than before, and db"),
        ("name: web\nrequires: {db: mysql}", ("db",), (), "requires.db: is another endpoint than before"),
        ("name: web", (), ("data",), "storage.data: is missing, and units have storage data; detach it first"),
    ],
)
@pytest.mark.parametrize("profile", Profile)
def test_a_charm_may_not_lack_what_is_used(
    new: str, related: tuple[str, ...], stored: tuple[str, ...], sentence: str, profile: Profile
) -> None:
    (found,) = refused(new, related=related, stored=stored, profile=profile)
    assert found.startswith(sentence)


def test_new_peers_come_only_in_the_profile_of_juju() -> None:
    new = "name: web\npeers: {ring: r, more: m}"
    assert refused(new, profile=Profile.JUJU) == []
    assert refused(new, profile=Profile.LITERAL) == [
        "peers.more: is new, and peers are only met during the setup of a unit; deploy another application"
    ]
