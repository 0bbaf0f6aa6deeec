"""Which endpoints of two applications a relation may join, and which changes of a charm are refused.

Tinkwell's own rules: a relation joins a provider's endpoint and a requirer's endpoint of one interface, and an
application is never related to itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tinkwell.core import errors
from tinkwell.core.charm.reader import parse_endpoint_name
from tinkwell.core.charm.record import Endpoint, Manifest, Role
from tinkwell.core.unit import name as names
from tinkwell.core.unit.kinds import Profile
from tinkwell.core.value import parse
from tinkwell.core.value.closed_object import nearest
from tinkwell.core.value.document import MAX_VIOLATIONS

_LISTED_PAIRS = 5


@dataclass(frozen=True, slots=True)
class Reference:
    """An end of a relation as a user writes it: `web:db`, or `web` if only one endpoint fits."""

    application: str
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class End:
    application: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class Pair:
    """The two ends of a relation that may be made."""

    provider: End
    requirer: End
    interface: str


def parse_reference(field: str, text: str) -> Reference:
    """Parse `application` or `application:endpoint`; raises `errors.InvalidField`."""
    application, colon, endpoint = text.partition(":")
    names.parse_application(field, application)
    return Reference(application, parse_endpoint_name(field, endpoint) if colon else "")


def match(first: Reference, second: Reference, manifests: Mapping[str, Manifest]) -> Pair:
    """Return the only pair of endpoints that fits. `manifests` are those of both applications, by name.

    Raises `errors.EndpointMismatch`.
    """
    subject = f"{_written(first)} and {_written(second)}"
    if first.application == second.application:
        raise errors.EndpointMismatch(subject, "an application is not related to itself; declare a peer endpoint")
    for reference in (first, second):
        _check_endpoint(subject, reference, manifests[reference.application])
    found = [*_pairs(first, second, manifests), *_pairs(second, first, manifests)]
    if not found:
        sentence = "no endpoint of one provides an interface that one of the other requires"
        raise errors.EndpointMismatch(subject, f"{sentence}; {_offers(first, second, manifests)}")
    if len(found) > 1:
        listed = ", ".join(_shown(pair) for pair in found[:_LISTED_PAIRS])
        more = " and more" if len(found) > _LISTED_PAIRS else ""
        raise errors.EndpointMismatch(subject, f"several pairs fit: {listed}{more}; name the endpoints")
    return found[0]


def check_refresh(
    old: Manifest, new: Manifest, *, related: Iterable[str], stored: Iterable[str], profile: Profile
) -> None:
    """Refuse a charm that may not replace the old one.

    `related` are the endpoints that have relations, peer endpoints included; `stored` are the storages that have
    instances. Raises `errors.CharmRefused`.
    """
    violations = [
        *_refused_kind(old, new),
        *_refused_endpoints(old, new, sorted(set(related)), profile),
        *_refused_storages(new, sorted(set(stored))),
    ]
    if violations:
        raise errors.CharmRefused(violations[:MAX_VIOLATIONS])


def _check_endpoint(subject: str, reference: Reference, manifest: Manifest) -> None:
    if not reference.endpoint:
        return
    found = manifest.endpoints.get(reference.endpoint)
    if found is None:
        advice = nearest(reference.endpoint, [*manifest.endpoints])
        sentence = f"{reference.application} has no endpoint {parse.show(reference.endpoint)}; {advice}"
        raise errors.EndpointMismatch(subject, sentence)
    if found.role is Role.PEER:
        sentence = (
            f"{reference.endpoint} of {reference.application} is a peer endpoint, which relates its units already"
        )
        raise errors.EndpointMismatch(subject, sentence)


def _pairs(provider: Reference, requirer: Reference, manifests: Mapping[str, Manifest]) -> Iterator[Pair]:
    for provides in _candidates(provider, manifests, Role.PROVIDES):
        for requires in _candidates(requirer, manifests, Role.REQUIRES):
            if provides.interface == requires.interface:
                yield Pair(
                    End(provider.application, provides.name),
                    End(requirer.application, requires.name),
                    provides.interface,
                )


def _candidates(reference: Reference, manifests: Mapping[str, Manifest], role: Role) -> Iterator[Endpoint]:
    for endpoint in manifests[reference.application].of_role(role):
        if reference.endpoint in ("", endpoint.name):
            yield endpoint


def _offers(first: Reference, second: Reference, manifests: Mapping[str, Manifest]) -> str:
    return ", ".join(_offer(reference, manifests[reference.application]) for reference in (first, second))


def _offer(reference: Reference, manifest: Manifest) -> str:
    found = [
        f"{role} {endpoint.interface}"
        for role in (Role.PROVIDES, Role.REQUIRES)
        for endpoint in manifest.of_role(role)
        if reference.endpoint in ("", endpoint.name)
    ]
    listed = " and ".join(found[:_LISTED_PAIRS]) + (" and more" if len(found) > _LISTED_PAIRS else "")
    return f"{_written(reference)} {listed or 'has no endpoints'}"


def _written(reference: Reference) -> str:
    return f"{reference.application}:{reference.endpoint}" if reference.endpoint else reference.application


def _shown(pair: Pair) -> str:
    provider, requirer = pair.provider, pair.requirer
    return f"{provider.application}:{provider.endpoint} with {requirer.application}:{requirer.endpoint}"


def _refused_kind(old: Manifest, new: Manifest) -> Iterator[errors.Violation]:
    if old.kind is not new.kind:
        sentence = f"is {new.kind.lower()}, and the application's is {old.kind.lower()}; deploy another application"
        yield errors.Violation("kind", sentence)


def _refused_endpoints(
    old: Manifest, new: Manifest, related: Iterable[str], profile: Profile
) -> Iterator[errors.Violation]:
    for name in related:
        was, is_now = old.endpoints.get(name), new.endpoints.get(name)
        field = parse.child(str(was.role) if was else "endpoints", name)
        if is_now is None:
            yield errors.Violation(field, f"is missing, and {name} is related; remove its relations first")
        elif was is not None and (was.role, was.interface) != (is_now.role, is_now.interface):
            sentence = f"is another endpoint than before, and {name} is related; remove its relations first"
            yield errors.Violation(field, sentence)
    if profile is Profile.LITERAL:
        for endpoint in new.of_role(Role.PEER):
            known = old.endpoints.get(endpoint.name)
            if known is None or known.role is not Role.PEER:
                sentence = "is new, and peers are only met during the setup of a unit; deploy another application"
                yield errors.Violation(parse.child(Role.PEER, endpoint.name), sentence)


def _refused_storages(new: Manifest, stored: Iterable[str]) -> Iterator[errors.Violation]:
    for name in stored:
        if name not in new.storages:
            sentence = f"is missing, and units have storage {name}; detach it first"
            yield errors.Violation(parse.child("storage", name), sentence)
