"""Runs a Go template with values, within limits on time, memory and nesting."""

from collections.abc import Iterator, Mapping, Sequence

from tinkwell.core.template.gotemplate.budget import FULL, Allowance, Budget
from tinkwell.core.template.gotemplate.fault import BadArgument, Fault
from tinkwell.core.template.gotemplate.function import format as gotemplate_format
from tinkwell.core.template.gotemplate.function import table as function
from tinkwell.core.template.gotemplate.function import text as text_function
from tinkwell.core.template.gotemplate.output import MAX_LEAD, Output, Writer
from tinkwell.core.template.gotemplate.syntax import node as gotemplate_node
from tinkwell.core.value import document
from tinkwell.core.value import parse as value

Value = gotemplate_node.Value

# Control structures and definitions nest up to this depth while they run; an inserted definition is one level.
MAX_DEPTH = 100
_STEPS_AN_INSERT = 4


def execute(
    text: str,
    tree: gotemplate_node.Tree,
    values: Mapping[str, Value],
    allowance: Allowance = FULL,
) -> Output:
    """Run a template with its values.

    Raises Fault at the first mistake, and at a key that the values do not have; `budget.Exhausted` if a limit is
    reached.
    """
    root = dict(values)
    evaluation = _Evaluation(Writer(text), tree.definitions, root, Budget(allowance))
    evaluation.run(tree.nodes, root)
    return evaluation.writer.output()


def check_depth(depth: int, offset: int) -> None:
    """Refuse too deep nesting at run time; raises Fault."""
    if depth > MAX_DEPTH:
        raise Fault(f"actions and templates nest deeper than {MAX_DEPTH} levels while they run", offset=offset)


class _Variables:
    """The visible variables: the last one made with each name."""

    def __init__(self) -> None:
        self._names: list[str] = []
        # So that a look-up takes constant time.
        self._values: dict[str, list[Value]] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> Value:
        return self._values[name][-1]

    def make(self, name: str, item: Value) -> None:
        """Make a variable, which hides others of the same name."""
        self._names.append(name)
        self._values.setdefault(name, []).append(item)

    def change(self, name: str, item: Value) -> None:
        """Give a variable another value."""
        self._values[name][-1] = item

    def forget(self, known: int) -> None:
        """Remove all variables but the first `known`."""
        while len(self._names) > known:
            self._values[self._names.pop()].pop()


class _Left(Exception):
    """A `{{break}}`, or a `{{continue}}` (`goes_on`), leaves the body of the innermost range."""

    def __init__(self, *, goes_on: bool) -> None:
        self.goes_on = goes_on
        super().__init__()


class _Evaluation:
    """One run of a template."""

    def __init__(
        self,
        writer: Writer,
        definitions: Mapping[str, Sequence[gotemplate_node.Node]],
        root: dict[str, Value],
        budget: Budget,
    ) -> None:
        self.writer = writer
        self._definitions = definitions
        self._root = root
        self._budget = budget
        self._variables = _Variables()
        self._variables.make("$", root)
        self._depth = 0

    def run(self, nodes: Sequence[gotemplate_node.Node], dot: Value) -> None:
        known = len(self._variables)
        self._depth += 1
        try:
            for node in nodes:
                self._budget.spend(1, node.offset)
                check_depth(self._depth, node.offset)
                self._run_one(node, dot)
        finally:
            self._variables.forget(known)
            self._depth -= 1

    def _run_one(self, node: gotemplate_node.Node, dot: Value) -> None:
        match node:
            case gotemplate_node.Text():
                self.writer.write_text(node.text, node.offset)
            case gotemplate_node.Print():
                self._print(node, dot)
            case gotemplate_node.Assign():
                item = self._pipeline(node.pipeline, dot)
                if node.is_new:
                    self._variables.make(node.name, item)
                else:
                    self._variables.change(node.name, item)
            case gotemplate_node.Branch():
                self._branch(node, dot)
            case gotemplate_node.Range():
                self._range(node, dot)
            case gotemplate_node.Leave():
                raise _Left(goes_on=node.goes_on)
            case gotemplate_node.Insert():
                self._insert(node, dot)

    def _insert(self, node: gotemplate_node.Insert, dot: Value) -> None:
        """Run a definition, which sees its argument and no variables."""
        self._budget.spend(_STEPS_AN_INSERT, node.offset)
        item = self._pipeline(node.pipeline, dot) if node.pipeline else None
        around = self._variables
        self._variables = _Variables()
        self._variables.make("$", item)
        self.run(self._definitions[node.name], item)
        self._variables = around

    def _print(self, node: gotemplate_node.Print, dot: Value) -> None:
        item = self._pipeline(node.pipeline, dot)
        try:
            text = gotemplate_format.text_of(item)
        except BadArgument as exc:
            raise Fault(
                f"{value.excerpt(node.source)}: {exc}", offset=node.offset, key=self._path(node.pipeline, dot)
            ) from exc
        self._budget.charge(len(text), node.offset)
        if node.lead is None:
            self.writer.write_value(text, node.offset)
        else:
            original = text.original if isinstance(text, text_function.Indented) else text
            # Each line gets the first line's indentation, which is known only when the text is read as YAML.
            self._budget.charge(original.count("\n") * MAX_LEAD, node.offset)
            self.writer.write_block(node.lead, original, node.offset)

    def _path(self, pipeline: gotemplate_node.Pipeline, dot: Value) -> tuple[str, ...]:
        """Return the path of the value that a pipeline names; empty if it does more than name a value."""
        match pipeline.commands:
            case [gotemplate_node.Command(function="", arguments=[gotemplate_node.Field(base=None, names=names)])]:
                return names if dot is self._root else ()
            case _:
                return ()

    def _branch(self, node: gotemplate_node.Branch, dot: Value) -> None:
        item = self._pipeline(node.pipeline, dot)
        known = len(self._variables)
        if node.name:
            self._variables.make(node.name, item)
        if function.is_true(item):
            self.run(node.body, item if node.moves_dot else dot)
        else:
            self.run(node.otherwise, dot)
        self._variables.forget(known)

    def _range(self, node: gotemplate_node.Range, dot: Value) -> None:
        items = self._pipeline(node.pipeline, dot)
        if not function.is_true(items):
            self.run(node.otherwise, dot)
            return
        known = len(self._variables)
        for key, item in self._items(items, node, dot):
            self._budget.spend(1, node.offset)
            if node.key_name:
                self._variables.make(node.key_name, key)
            if node.item_name:
                self._variables.make(node.item_name, item)
            try:
                self.run(node.body, item)
            except _Left as left:
                if not left.goes_on:
                    break
            finally:
                self._variables.forget(known)

    def _items(self, items: Value, node: gotemplate_node.Range, dot: Value) -> Iterator[tuple[Value, Value]]:
        match items:
            case dict():
                self._budget.spend(len(items), node.offset)
                return iter([(key, items[key]) for key in sorted(items)])
            case list():
                return iter(enumerate(items))
        description = (
            f"range needs a list or an object; {value.excerpt(node.pipeline.source)} is {document.describe(items)}"
        )
        raise Fault(description, offset=node.offset, key=self._path(node.pipeline, dot))

    def _pipeline(self, pipeline: gotemplate_node.Pipeline, dot: Value) -> Value:
        first, *others = pipeline.commands
        item = self._command(first, dot, [])
        for command in others:
            item = self._command(command, dot, [item])
        return item

    def _command(self, command: gotemplate_node.Command, dot: Value, piped: list[Value]) -> Value:
        if not command.function:
            return self._operand(command.arguments[0], dot)
        if command.function in ("and", "or"):
            return self._choose(command, dot, piped)
        arguments = [*(self._operand(argument, dot) for argument in command.arguments), *piped]
        return self._call(command, arguments)

    def _call(self, command: gotemplate_node.Command, arguments: list[Value]) -> Value:
        """Call a function. The cost of every function is counted here."""
        is_shallow = command.function in function.SHALLOW
        self._budget.spend(1, command.offset)
        given = self._budget.give(command.function, arguments, command.offset, is_shallow=is_shallow)
        self._budget.charge(function.extra_work(command.function, arguments, given), command.offset)
        try:
            made = function.call(command.function, arguments)
        except BadArgument as exc:
            raise Fault(str(exc), offset=command.offset, key=() if exc.is_value else None) from exc
        self._budget.take(made, command.offset, is_shallow=is_shallow)
        return made

    def _choose(self, command: gotemplate_node.Command, dot: Value, piped: list[Value]) -> Value:
        """Return the argument that decides an `and` or an `or`; later arguments are not evaluated."""
        decides = command.function == "or"
        item: Value = None
        count = len(command.arguments) + len(piped)
        if not count:
            raise Fault(f"{command.function} needs 1 or more arguments and has 0", offset=command.offset)
        for at in range(count):
            item = self._operand(command.arguments[at], dot) if at < len(command.arguments) else piped[0]
            if function.is_true(item) == decides:
                break
        return item

    def _operand(self, operand: gotemplate_node.Operand, dot: Value) -> Value:
        self._budget.spend(1, operand.offset)
        if isinstance(operand, gotemplate_node.Literal):
            return operand.value
        match operand.base:
            case None:
                base = dot
            case gotemplate_node.Variable(name=name):
                base = self._variables[name]
            case gotemplate_node.Pipeline() as pipeline:
                base = self._pipeline(pipeline, dot)
        return self._walk(base, operand)

    def _walk(self, base: Value, operand: gotemplate_node.Field) -> Value:
        """Follow the names from map to map; a missing name is an error, as with Go's `missingkey=error`."""
        path = operand.names if base is self._root else ()
        item = base
        for at, name in enumerate(operand.names):
            self._budget.spend(1, operand.offset)
            if not isinstance(item, dict):
                owner = "." + ".".join(operand.names[:at])
                description = f"{owner} is {document.describe(item)} and has no entry {value.show(name)}"
                raise Fault(description, offset=operand.offset, key=path[:at])
            if name not in item:
                description = f"map has no entry for key {value.show(name)}"
                if item is self._root:
                    description += "; give it a value when the workflow is created"
                raise Fault(description, offset=operand.offset, key=path[: at + 1])
            item = item[name]
        return item
