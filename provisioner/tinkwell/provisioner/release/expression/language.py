"""The language of expressions: compiles and evaluates one text with Jinja. It runs only in the child process.

The lexer tells what a text is. *Plain* has neither `{{` nor `{%` and is never looked at. *Pure* is one `{{ … }}` from
its first to its last character: it gives the value of its expression, whatever its type. Everything else is *mixed* and
gives text. Undefined names are errors, except in `is defined` and `default`.

Templates see only JSON values. Jinja's sandbox keeps them from attributes that lead to the interpreter; this module
adds limits on sizes. The limits of the process catch the rest.
"""

import codecs
import functools
import html
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import jinja2.debug
from jinja2 import meta, nodes, sandbox
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import Template, TemplateExpression
from jinja2.exceptions import SecurityError, TemplateError, UndefinedError
from jinja2.runtime import Context, StrictUndefined, Undefined
from jinja2.utils import missing

from tinkwell.core.release.manifest import late
from tinkwell.core.value import closed_object, document
from tinkwell.provisioner.release.expression import naming, plain
from tinkwell.provisioner.release.expression.fault import Fault, Unknown
from tinkwell.provisioner.release.expression.plain import Json

MAX_RANGE = 10_000
MAX_BITS = 4096
# The largest text, in characters, and the longest list that an operator may make.
MAX_SIZE = plain.MAX_BYTES
_CACHED_TEXTS = 2000
_SHOWN_CHARACTERS = 200

REMOVED_GLOBALS = ("lipsum", "cycler", "joiner", "namespace", "dict")
# `format` is the operator % on texts by another name.
_REMOVED_FILTERS = ("attr", "urlize", "xmlattr", "pprint", "center", "wordwrap", "random", "format")
_REFUSED_STATEMENTS = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport, nodes.Block)


# Jinja and markupsafe load these modules on first use; they are loaded here, while files can still be opened.
_LOADED = (jinja2.debug, html, *map(codecs.lookup, ("ascii", "unicode_escape")))


class Text:
    """One compiled text. `roots` are the names that it uses, and `optional` those of them for which it has a default.

    `subcharts` are the names that follow `subcharts`; None if the text does not show them.
    """

    def __init__(self, text: str) -> None:
        """Compile; raises `Fault`."""
        try:
            tree = _parse(text)
            self.roots = frozenset(meta.find_undeclared_variables(tree))
            self.optional = frozenset(_optional(tree))
            self.subcharts = _subcharts(tree, text) if naming.SUBCHARTS in self.roots else frozenset()
            self._expression: TemplateExpression | None = None
            self._template: Template | None = None
            if _is_pure(text):
                self._expression = TemplateExpression(_compile(_assignment(tree)), undefined_to_none=False)
            else:
                self._template = _compile(tree)
        except (Fault, MemoryError):
            raise
        except Exception as error:
            raise Fault(_reason(error)) from error

    def evaluate(self, names: Mapping[str, object], *, depth: int = 0) -> Json:
        """Return the value of a pure text, or the text of a mixed one; raises `Fault`.

        `depth` is the number of lists and objects that will contain the value.
        """
        # An untrusted expression may raise any exception. `MemoryError` ends the process.
        try:
            if self._expression is not None:
                return plain.copy(self._expression(names), depth=depth)
            assert self._template
            context = self._template.new_context(dict(names))
            return plain.copy(_join(self._template.root_render_func(context), ""))
        except (Fault, MemoryError):
            raise
        except Exception as error:
            raise Fault(_reason(error)) from error


def is_plain(text: str) -> bool:
    """Whether a text holds no expression."""
    return "{{" not in text and "{%" not in text


# The cache keeps no errors.
compile_text = functools.lru_cache(maxsize=_CACHED_TEXTS)(Text)


class _Missing(UndefinedError):
    """An undefined value was used: `name` of `parent`, or a name on its own."""

    def __init__(self, parent: object, name: object, message: str | None = None) -> None:
        self.parent = parent
        self.name = name
        super().__init__(message)


class _Undefined(StrictUndefined):
    __slots__ = ()

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: Any = None, exc: Any = UndefinedError
    ) -> None:
        missed = cast("type[UndefinedError]", functools.partial(_Missing, obj, name))
        super().__init__(hint, obj, name, exc if hint else missed)


class _Generator(CodeGenerator):
    """Makes `~` call the environment, as the other operators do."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802  # named after the node
        self.write("environment.join_texts((")
        for item in node.nodes:
            self.visit(item, frame)
            self.write(", ")
        self.write("))")


class _Environment(sandbox.ImmutableSandboxedEnvironment):
    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=_Undefined, finalize=_finalize, keep_trailing_newline=True)
        # Templates have no globals of their own; every evaluation passes all names.
        self.globals.clear()
        for name in _REMOVED_FILTERS:
            del self.filters[name]

    def unsafe_undefined(self, obj: Any, attribute: str) -> Undefined:
        """Return an undefined value for an attribute that is not allowed; an undefined `obj` keeps its own error."""
        if isinstance(obj, Undefined):
            return obj
        return _Undefined(f"{attribute} of {_kind(obj)} is not allowed", obj=obj, name=attribute, exc=SecurityError)

    # In Jinja this parameter is named `operator`; Jinja always passes it by position.
    def call_binop(self, context: Context, symbol: str, left: Any, right: Any) -> Any:
        """Apply an operator of `intercepted_binops`; raises `Fault` if the result would be too large."""
        _CHECKS[symbol](left, right)
        try:
            return super().call_binop(context, symbol, left, right)
        except TypeError as error:
            hint = "; ~ joins texts" if symbol == "+" and str in (type(left), type(right)) else ""
            raise Fault(f"{symbol} does not take {_kind(left)} and {_kind(right)}{hint}") from error

    def join_texts(self, parts: Iterable[object]) -> str:
        """Apply `~`."""
        return _join(map(str, parts), "~ ")


def _check_sum(left: object, right: object) -> None:
    if isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
        _check_size("+", len(left) + len(right))
    elif isinstance(left, int) and isinstance(right, int):
        _check_bits("+", max(left.bit_length(), right.bit_length()) + 1)


def _check_product(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits("*", left.bit_length() + right.bit_length())
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            _check_size("*", len(sequence) * times)


def _check_power(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits("**", left.bit_length() * max(right, 0))


def _check_remainder(left: object, right: object) -> None:
    if isinstance(left, str):
        raise Fault("% formats no texts here; join them with ~")


_CHECKS = {"+": _check_sum, "*": _check_product, "**": _check_power, "%": _check_remainder}


def _check_size(symbol: str, size: int) -> None:
    if size > MAX_SIZE:
        raise Fault(f"{symbol} would make more than {MAX_SIZE:,} characters or items")


def _check_bits(symbol: str, bits: int) -> None:
    if bits > MAX_BITS:
        raise Fault(f"{symbol} would make a number of more than {MAX_BITS:,} bits")


def _join(parts: Iterable[str], symbol: str) -> str:
    """Join texts; raises `Fault` if the result is longer than MAX_SIZE."""
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_SIZE:
            raise Fault(f"{symbol}gives more than {MAX_SIZE:,} characters")
        kept.append(part)
    return "".join(kept)


def _range(*bounds: int) -> range:
    found = range(*bounds)
    # `len` fails for very long ranges.
    if found and abs(found[-1] - found[0]) // abs(found.step) >= MAX_RANGE:
        raise Fault(f"range gives more than {MAX_RANGE:,} numbers")
    return found


def _finalize(value: object) -> object:
    """Let only JSON values into a text: the text of a function would show its memory address."""
    if value is None or isinstance(value, str | int | float | Undefined):
        return value
    return plain.copy(value)


_ENVIRONMENT = _Environment()
GLOBALS = {"range": _range}


def _parse(text: str) -> nodes.Template:
    tree = _ENVIRONMENT.parse(text)
    if any(tree.find_all(_REFUSED_STATEMENTS)):
        raise Fault("include, import, extends and block are not available")
    return tree


def _compile(tree: nodes.Template) -> Template:
    return _ENVIRONMENT.from_string(tree, globals=GLOBALS)


def _is_pure(text: str) -> bool:
    kinds = [kind for _, kind, _ in _ENVIRONMENT.lex(text)]
    return kinds[0] == "variable_begin" and kinds[-1] == "variable_end" and kinds.count("variable_begin") == 1


def _assignment(tree: nodes.Template) -> nodes.Template:
    """Turn the only output of a pure text into the assignment that a `TemplateExpression` reads."""
    (output,) = tree.body
    assert isinstance(output, nodes.Output)
    (expression,) = output.nodes
    made = nodes.Template([nodes.Assign(nodes.Name("result", "store"), expression, lineno=1)], lineno=1)
    made.set_environment(_ENVIRONMENT)
    return made


def _optional(tree: nodes.Template) -> Iterator[str]:
    for test in tree.find_all(nodes.Test):
        if test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name):
            yield test.node.name
    for found in tree.find_all(nodes.Filter):
        if found.name in ("default", "d") and isinstance(found.node, nodes.Name):
            yield found.node.name


def _subcharts(tree: nodes.Template, text: str) -> frozenset[str] | None:
    """Return the names in `subcharts.NAME` and `subcharts['NAME']`; None if `subcharts` is used in any other way."""
    named = [found.attr for found in tree.find_all(nodes.Getattr) if _is_subcharts(found.node)]
    items = [found.arg for found in tree.find_all(nodes.Getitem) if _is_subcharts(found.node)]
    named += [str(item.value) for item in items if isinstance(item, nodes.Const)]
    uses = sum(map(_is_subcharts, tree.find_all(nodes.Name)))
    # The later evaluation looks for the names as they are written in the text.
    return frozenset(named) if uses == len(named) and late.named_subcharts(text).issuperset(named) else None


def _is_subcharts(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == naming.SUBCHARTS


def _reason(error: Exception) -> str:
    match error:
        case _Missing(parent=parent, name=name) if parent is missing:
            raise Unknown(str(name)) from error
        case _Missing():
            return _missing_reason(error.parent, error.name)
        case SecurityError() | UndefinedError():
            return str(error.message)
        case TemplateError():
            return f"is no valid expression: {str(error.message).rstrip('.')}"
        case RecursionError() | SyntaxError():
            return "is nested too deeply, or calls itself without end"
        case OSError():
            return "needs a file, and there are none"
        case _:
            return f"cannot be evaluated: {_shortened(error) or 'no reason'} ({type(error).__name__})"


def _missing_reason(parent: object, name: object) -> str:
    if not isinstance(parent, dict):
        return f"{_kind(parent)} has no {_shortened(name)}"
    known = [key for key in parent if isinstance(key, str)]
    return f"there is no {_shortened(name)} in it; {closed_object.nearest(str(name), known)}"


def _shortened(what: object) -> str:
    """Return the text of an error. If it is cut, an ellipsis marks the cut, since a secret may be cut as well."""
    text = str(what)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _kind(value: object) -> str:
    match value:
        case None | bool() | int() | float() | str() | dict() | list() | tuple():
            return document.describe(value)
        case types.FunctionType() | types.BuiltinFunctionType() | types.MethodType():
            return "a function"
        case _:
            return type(value).__name__
