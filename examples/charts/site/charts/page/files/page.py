"""A charm that writes a page of what all that it is related to have to say.

tinkwell app deploy page examples/charms/page/page.py --to anywhere
tinkwell unit run examples/charms/page/page.py --application page
"""

import asyncio
import html

from tinkwell import charm


class Page(charm.Charm):
    """Writes a page of the texts that it is given."""

    texts = charm.Requires("texts", interface="text")
    site = charm.Storage("site", description="Where the page is.")
    title = charm.Option(str, default="Texts", description="What stands above the texts.")

    @texts.changed
    async def heard(self, event: charm.RelationChanged) -> None:
        """Take down what a unit of the other side says; other pages and units that are gone say nothing."""
        if event.application == self.application or event.unit not in event.relation.units:
            return None
        if "text" not in event.remote:
            self.status = charm.Waiting(f"for the text of {event.unit}")
            return event.defer()
        self.state[event.unit] = event.remote["text"]
        return await self.write()

    @texts.departed
    async def left(self, event: charm.RelationDeparted) -> None:
        """Leave out what a unit said that is gone."""
        self.state.pop(event.unit, None)
        await self.write()

    @charm.on.config_changed
    async def configured(self, event: charm.ConfigChanged) -> None:
        """Write the page with today's title; this comes during setup, too."""
        await self.write()

    async def write(self) -> None:
        """Write the page, and say so. Doing it again does no harm, and so it may."""
        texts = [html.escape(self.state[unit]) for unit in sorted(self.state)]
        lines = [f"<h1>{html.escape(self.title)}</h1>", *(f"<p>{text}</p>" for text in texts)]
        path = self.site.one().path / "index.html"
        await asyncio.to_thread(path.write_text, "\n".join(lines) + "\n")
        self.status = charm.Active(f"{len(texts)} on the page")
