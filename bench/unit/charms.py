"""The charms whose units are measured; their handlers write a bag, or there are none."""

import asyncio
import random

from tinkwell import charm


class Player(charm.Charm):
    """Sends each ball back that it gets, until the ball has been sent often enough."""

    gives = charm.Provides("gives", interface="ball")
    takes = charm.Requires("takes", interface="ball")
    served = charm.Option(str, default="", description="A ball to begin with, such as 3.20: its name, and how often.")
    pause = charm.Option(int, default=0, description="Milliseconds from a ball's coming to its going, on average.")

    @charm.on.config_changed
    async def serve(self, event: charm.ConfigChanged) -> None:
        """Begin with a ball."""
        if self.served:
            for relation in self.gives:
                relation.unit["ball"] = self.served

    @gives.changed
    @takes.changed
    async def send_back(self, event: charm.RelationChanged) -> None:
        """Write one's own bag, which the other side gets to know."""
        name, _, left = event.remote.get("ball", "").partition(".")
        if left in ("", "0"):
            return
        if self.pause:
            await asyncio.sleep(self.pause / 1000 * random.uniform(0.5, 1.5))
        event.relation.unit["ball"] = f"{name}.{int(left) - 1}"


class Member(charm.Charm):
    """Is told of others, and does nothing."""

    gives = charm.Provides("gives", interface="ball")
    takes = charm.Requires("takes", interface="ball")
    mark = charm.Option(int, default=0, description="Changed to have a config-changed.")
