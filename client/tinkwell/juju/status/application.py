"""Describes applications as `status` shows them."""

from typing import TYPE_CHECKING, Any

from tinkwell.core.unit.kinds import STATUS_URGENCY, Life
from tinkwell.juju.shell import moment
from tinkwell.juju.status import unit as units
from tinkwell.juju.status.snapshot import Snapshot

if TYPE_CHECKING:
    from tinkwell.client import Application

# The space of every endpoint if a model has no other space.
_SPACE = "alpha"
# Statuses that only a charm sets.
_SAID = ("active", "blocked", "maintenance")


def describe(found: "Application", snapshot: Snapshot) -> dict[str, Any]:
    """Describe an application with its units and relations as `status` does."""
    own = [each for each in snapshot.units if each.application_id == found.id]
    shown = {each.name: units.describe(each, found.kind, snapshot) for each in own}
    revision = snapshot.revisions.get(found.charm, 0)
    charm = snapshot.charms.get(found.charm)
    endpoints = sorted(each.name for each in charm.endpoints) if charm is not None else []
    described: dict[str, Any] = {
        "charm": f"local:{found.charm_name}-{revision}",
        "charm-origin": "local",
        "charm-name": found.charm_name,
        "charm-rev": revision,
        "exposed": False,
        "application-status": _status(found, shown),
        "relations": _relations(found, snapshot),
        "units": shown,
        "endpoint-bindings": dict.fromkeys(("", *endpoints), _SPACE),
    }
    if found.life is not Life.ALIVE:
        described["life"] = found.life.lower()
    if version := next((each.workload_version for each in own if each.workload_version), ""):
        described["version"] = version
    return described


def _status(found: "Application", shown: dict[str, dict[str, Any]]) -> units.Status:
    """Return the status that the leader has set for the application, or the most urgent status of its units."""
    own = found.status
    # If the leader has set no status, the server gives that of a unit. Juju describes units in other words.
    if own is not None and own.name != "error" and (own.message or own.name in _SAID):
        return units.status(own.name, own.message, since=moment.juju(found.updated_at))
    told = [each["workload-status"] for each in shown.values()]
    return min(
        told,
        key=lambda each: STATUS_URGENCY.index(each["current"]),
        default=units.status("unknown", "", since=moment.juju(found.updated_at)),
    )


def _relations(found: "Application", snapshot: Snapshot) -> dict[str, list[dict[str, str]]]:
    related: dict[str, list[dict[str, str]]] = {}
    for relation in snapshot.relations:
        for end in relation.ends:
            if end.application != found.name:
                continue
            # A peer relation has one end, because it relates an application to itself.
            other = next((each for each in relation.ends if each != end), end)
            told = {"related-application": other.application, "interface": relation.interface, "scope": "global"}
            related.setdefault(end.endpoint, []).append(told)
    return dict(sorted(related.items()))
