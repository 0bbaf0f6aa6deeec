"""Runs a Go template over values, within bounds that no template and no value can pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinkwell.core.template.gotemplate import format as gotemplate_format
from tinkwell.core.template.gotemplate import function
from tinkwell.core.template.gotemplate import node as gotemplate_node
from tinkwell.core.template.gotemplate.fault import BadArgument, Fault
from tinkwell.core.template.gotemplate.output import Output, Writer
from tinkwell.core.value import document
from tinkwell.core.value import parse as value

MAX_STEPS = 1_000_000
# One step is charged for so many characters or items that a function looks at, or that it writes.
_READ_A_STEP = 64
_WRITTEN_A_STEP = 8

Value = gotemplate_node.Value


def execute(text: str, nodes: Sequence[gotemplate_node.Node], values: Mapping[str, Value]) -> Output:
    """Run a template over its values.

    Raises Fault at the first mistake, at a key that the values do not have, and after MAX_STEPS steps.
    """
    root = dict(values)
    evaluation = _Evaluation(Writer(text), root)
    evaluation.run(nodes, root)
    return evaluation.writer.output()


@dataclass(slots=True)
class _Binding:
    name: str
    value: Value


class _Evaluation:
    """One run of a template."""

    def __init__(self, writer: Writer, root: dict[str, Value]) -> None:
        self.writer = writer
        self._root = root
        self._bindings = [_Binding("$", root)]
        self._steps = 0

    def run(self, nodes: Sequence[gotemplate_node.Node], dot: Value) -> None:
        known = len(self._bindings)
        for node in nodes:
            self._spend(1, node.offset)
            self._run_one(node, dot)
        del self._bindings[known:]

    def _run_one(self, node: gotemplate_node.Node, dot: Value) -> None:
        match node:
            case gotemplate_node.Text():
                self.writer.write_text(node.text, node.offset)
            case gotemplate_node.Print():
                self._print(node, dot)
            case gotemplate_node.Assign():
                item = self._pipeline(node.pipeline, dot)
                if node.is_new:
                    self._bindings.append(_Binding(node.name, item))
                else:
                    self._binding(node.name).value = item
            case gotemplate_node.Branch():
                self._branch(node, dot)
            case gotemplate_node.Range():
                self._range(node, dot)

    def _print(self, node: gotemplate_node.Print, dot: Value) -> None:
        item = self._pipeline(node.pipeline, dot)
        try:
            text = gotemplate_format.text_of(item)
        except BadArgument as exc:
            raise Fault(
                f"{value.excerpt(node.source)}: {exc}", offset=node.offset, key=self._path(node.pipeline, dot)
            ) from exc
        self.writer.write_value(text, node.offset)

    def _path(self, pipeline: gotemplate_node.Pipeline, dot: Value) -> tuple[str, ...]:
        """Tell the path of the value that a pipeline names; nothing where it does more than to name one."""
        match pipeline.commands:
            case [gotemplate_node.Command(function="", arguments=[gotemplate_node.Field(base=None, names=names)])]:
                return names if dot is self._root else ()
            case _:
                return ()

    def _branch(self, node: gotemplate_node.Branch, dot: Value) -> None:
        item = self._pipeline(node.pipeline, dot)
        known = len(self._bindings)
        if node.name:
            self._bindings.append(_Binding(node.name, item))
        if function.is_true(item):
            self.run(node.body, item if node.moves_dot else dot)
        else:
            self.run(node.otherwise, dot)
        del self._bindings[known:]

    def _range(self, node: gotemplate_node.Range, dot: Value) -> None:
        items = self._pipeline(node.pipeline, dot)
        if not function.is_true(items):
            self.run(node.otherwise, dot)
            return
        known = len(self._bindings)
        for key, item in self._items(items, node, dot):
            self._spend(1, node.offset)
            if node.key_name:
                self._bindings.append(_Binding(node.key_name, key))
            if node.item_name:
                self._bindings.append(_Binding(node.item_name, item))
            self.run(node.body, item)
            del self._bindings[known:]

    def _items(self, items: Value, node: gotemplate_node.Range, dot: Value) -> Iterator[tuple[Value, Value]]:
        match items:
            case dict():
                self._spend(len(items), node.offset)
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
        size = sum(len(item) for item in arguments if isinstance(item, str | list | dict))
        writes = command.function in function.WRITING
        self._spend(1 + size // (_WRITTEN_A_STEP if writes else _READ_A_STEP), command.offset)
        if writes and size > self.writer.remaining_bytes:
            raise Fault(f"{command.function} is given too much; {self.writer.limit}", offset=command.offset)
        try:
            return function.call(command.function, arguments)
        except BadArgument as exc:
            raise Fault(str(exc), offset=command.offset, key=() if exc.is_value else None) from exc

    def _choose(self, command: gotemplate_node.Command, dot: Value, piped: list[Value]) -> Value:
        """Give the argument that decides an `and` or an `or`, and look at none behind it."""
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
        self._spend(1, operand.offset)
        if isinstance(operand, gotemplate_node.Literal):
            return operand.value
        match operand.base:
            case None:
                base = dot
            case gotemplate_node.Variable(name=name):
                base = self._binding(name).value
            case gotemplate_node.Pipeline() as pipeline:
                base = self._pipeline(pipeline, dot)
        return self._walk(base, operand)

    def _walk(self, base: Value, operand: gotemplate_node.Field) -> Value:
        """Follow the names from map to map; a missing one is an error, as with Go's `missingkey=error`."""
        path = operand.names if base is self._root else ()
        item = base
        for at, name in enumerate(operand.names):
            self._spend(1, operand.offset)
            if not isinstance(item, dict):
                owner = "." + ".".join(operand.names[:at])
                description = f"{owner} is {document.describe(item)} and has no entry {value.show(name)}"
                raise Fault(description, offset=operand.offset, key=path[:at])
            if name not in item:
                description = f"map has no entry for key {value.show(name)}"
                raise Fault(description, offset=operand.offset, key=path[: at + 1])
            item = item[name]
        return item

    def _binding(self, name: str) -> _Binding:
        return next(binding for binding in reversed(self._bindings) if binding.name == name)

    def _spend(self, steps: int, offset: int) -> None:
        self._steps += steps
        if self._steps > MAX_STEPS:
            raise Fault(f"the template takes more than {MAX_STEPS:,} steps", offset=offset)
