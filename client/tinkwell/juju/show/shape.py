"""Parts of units and applications as Juju writes them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinkwell.client import Application, Unit


def ports(unit: "Unit") -> list[str]:
    """Give the ports that a unit says it has opened: 80/tcp, icmp."""
    return [f"{each.number}/{each.protocol}" if each.number else each.protocol for each in unit.ports]


def charm(application: "Application") -> str:
    """Give the name of an application's charm, as one that was not deployed from a store."""
    return f"local:{application.charm_name}-0"
