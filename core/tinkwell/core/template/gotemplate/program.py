"""A safe interpreter for Go's `text/template`, as templates of workflows use it.

It knows `{{.device_1}}`, `{{.a.b}}`, `{{index .a "b-c" 0}}`, trim markers, comments, variables, parentheses, pipelines,
`if`, `else if`, `with`, `range`, `break`, `continue`, `define`, `template`, `block`, and the functions of
`function.table`. It does not know methods, nor functions as values. It differs from Go where Go is harmful: numbers
print exactly, and null, lists and objects do not print at all. A missing key is an error. Steps, characters, output and
nesting are bounded.

The result is an `output.Output` and not text, so that values stay apart from the template's text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinkwell.core.template.gotemplate import eval as gotemplate_eval
from tinkwell.core.template.gotemplate.budget import FULL, Allowance, Budget, Exhausted
from tinkwell.core.template.gotemplate.fault import Fault
from tinkwell.core.template.gotemplate.output import Output, Writer, find_reserved, place
from tinkwell.core.template.gotemplate.syntax import node as gotemplate_node
from tinkwell.core.template.gotemplate.syntax import parser

__all__ = ["Allowance", "Exhausted", "Fault", "Output", "Program", "Variant", "parse", "place"]

# A text has at most 20,000 actions; inserted definitions add more.
_OUTLINE = Allowance(steps=200_000, characters=0)


class Variant(StrEnum):
    """Which branches of control structures an outline has."""

    BODIES = "BODIES"
    ELSES = "ELSES"
    BOTH = "BOTH"


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed template."""

    text: str
    tree: gotemplate_node.Tree

    @property
    def has_control(self) -> bool:
        """Whether the values may decide which parts of the text are written, and how often."""
        control = gotemplate_node.Branch | gotemplate_node.Range | gotemplate_node.Insert
        return any(isinstance(node, control) for node in self.tree.nodes)

    @property
    def action_characters(self) -> int:
        """The number of characters in actions and comments, with the white space that these remove."""
        texts = (node.text for node in self.tree.nodes if isinstance(node, gotemplate_node.Text))
        return len(self.text) - sum(map(len, texts))

    def execute(self, values: Mapping[str, gotemplate_node.Value], allowance: Allowance = FULL) -> Output:
        """Run the template with its values; raises Fault, and Exhausted if a limit is reached."""
        return gotemplate_eval.execute(self.text, self.tree, values, allowance)

    def outline(self, variant: Variant) -> Output:
        """Return the text without values: each printed value is the source of its action; raises Fault."""
        outline = _Outline(Writer(self.text, is_outline=True), self.tree.definitions, variant)
        outline.write(self.tree.nodes)
        return outline.writer.output()


def parse(text: str) -> Program:
    """Parse a template; raises Fault at its first mistake."""
    reserved = find_reserved(text)
    if reserved is not None:
        raise Fault(f"the character U+{ord(text[reserved]):04X} is reserved; leave it out", offset=reserved)
    return Program(text, parser.parse(text))


class _Outline:
    """Writes a template without values. A definition that inserts itself is written only once."""

    def __init__(
        self, writer: Writer, definitions: Mapping[str, Sequence[gotemplate_node.Node]], variant: Variant
    ) -> None:
        self.writer = writer
        self._definitions = definitions
        self._variant = variant
        self._budget = Budget(_OUTLINE)
        self._inserted: list[str] = []
        self._depth = 0

    def write(self, nodes: Sequence[gotemplate_node.Node]) -> None:
        self._depth += 1
        for node in nodes:
            self._budget.spend(1, node.offset)
            gotemplate_eval.check_depth(self._depth, node.offset)
            match node:
                case gotemplate_node.Text():
                    self.writer.write_text(node.text, node.offset)
                case gotemplate_node.Print(lead=None):
                    self.writer.write_value(node.source, node.offset)
                case gotemplate_node.Print(lead=str() as lead):
                    self.writer.write_block(lead, node.source, node.offset)
                case gotemplate_node.Branch() | gotemplate_node.Range():
                    if self._variant != Variant.ELSES:
                        self.write(node.body)
                    if self._variant != Variant.BODIES:
                        self.write(node.otherwise)
                case gotemplate_node.Insert():
                    self._insert(node)
                case gotemplate_node.Assign() | gotemplate_node.Leave():
                    pass
        self._depth -= 1

    def _insert(self, node: gotemplate_node.Insert) -> None:
        if node.name in self._inserted:
            return
        self._inserted.append(node.name)
        self.write(self._definitions[node.name])
        self._inserted.pop()
