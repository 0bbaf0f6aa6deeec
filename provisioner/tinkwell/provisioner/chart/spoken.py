"""What the scripts of a chart say to who runs a command for it, as that has no log."""

from collections.abc import Callable

from tinkwell.core import errors
from tinkwell.core.release.chart import place
from tinkwell.core.value import parse
from tinkwell.provisioner.release.lifecycle import saying


def teller(chart: str, *, line: Callable[[str], None], warning: Callable[[str], None]) -> saying.Say:
    """Return what is to be told what scripts say: `line` gets each line that they print, as
    `shop/ext/lua/init.lua: text`.

    `warning` gets a sentence for what they warn of, and for what they have changed without effect.
    """

    def say(said: saying.Printed | saying.Warned | saying.Dropped) -> None:
        if isinstance(said, saying.Printed):
            for text in said.text.rstrip("\n").split("\n"):
                line(_told(said.file, text, chart))
        else:
            warning(_told(said.place, said.sentence, chart))

    return say


def _told(where: str, text: str, chart: str) -> str:
    # What is printed has tabs between its parts.
    shown = "\t".join(map(parse.escape, text.split("\t")))
    return place.describe(errors.Violation(where, shown), chart)
