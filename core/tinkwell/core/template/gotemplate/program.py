"""A safe interpreter for Go's `text/template`, as templates of workflows use it.

Known are: `{{.device_1}}`, `{{.a.b}}`, `{{index .a "b-c" 0}}`, trim markers, comments, variables, parentheses,
pipelines, `if`, `else if`, `with`, `range`, and the functions of `gotemplate_function`. Not known are `define`,
`template`, `block`, `break`, `continue` and methods. It differs from Go where Go does harm: numbers print exactly as
they were given, and null, lists and objects do not print at all. A missing key is an error. Steps, what is read
and written, output and nesting are bounded.

The output is not text with values in it but `gotemplate_output.Output`, from which values cannot break out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.template.gotemplate import eval as gotemplate_eval
from tinkwell.core.template.gotemplate import node as gotemplate_node
from tinkwell.core.template.gotemplate import parser
from tinkwell.core.template.gotemplate.budget import FULL, Allowance, Exhausted
from tinkwell.core.template.gotemplate.fault import Fault
from tinkwell.core.template.gotemplate.output import Output, Writer, find_reserved, place

__all__ = ["Allowance", "Exhausted", "Fault", "Output", "Program", "Variant", "parse", "place"]


class Variant(StrEnum):
    """Which parts of an outline's control structures are written."""

    BODIES = "BODIES"
    ELSES = "ELSES"
    BOTH = "BOTH"


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed template."""

    text: str
    nodes: tuple[gotemplate_node.Node, ...]

    @property
    def has_control(self) -> bool:
        """Whether the values decide which parts of the text are written, and how often."""
        return any(isinstance(node, gotemplate_node.Branch | gotemplate_node.Range) for node in self.nodes)

    def execute(self, values: Mapping[str, gotemplate_node.Value], allowance: Allowance = FULL) -> Output:
        """Run the template over its values; raises Fault, and Exhausted where that costs more than it may."""
        return gotemplate_eval.execute(self.text, self.nodes, values, allowance)

    def outline(self, variant: Variant) -> Output:
        """Write the text without values: each printed one is the source of its action; raises Fault."""
        writer = Writer(self.text, is_outline=True)
        _outline(self.nodes, variant, writer)
        return writer.output()


def parse(text: str) -> Program:
    """Parse a template; raises Fault at its first mistake."""
    reserved = find_reserved(text)
    if reserved is not None:
        raise Fault(f"the character U+{ord(text[reserved]):04X} is reserved; leave it out", offset=reserved)
    return Program(text, parser.parse(text))


def _outline(nodes: Sequence[gotemplate_node.Node], variant: Variant, writer: Writer) -> None:
    for node in nodes:
        match node:
            case gotemplate_node.Text():
                writer.write_text(node.text, node.offset)
            case gotemplate_node.Print():
                writer.write_value(node.source, node.offset)
            case gotemplate_node.Branch() | gotemplate_node.Range():
                if variant != Variant.ELSES:
                    _outline(node.body, variant, writer)
                if variant != Variant.BODIES:
                    _outline(node.otherwise, variant, writer)
            case gotemplate_node.Assign():
                pass
