"""Parses a Go template into its syntax tree, and refuses what the language does not have."""

import decimal
import re
from collections.abc import Iterable, Iterator

from tinkwell.core.template.gotemplate import fault, lexer, node
from tinkwell.core.template.gotemplate import function as gotemplate_function
from tinkwell.core.template.gotemplate.lexer import Kind
from tinkwell.core.value import parse as value

MAX_DEPTH = 50
MAX_VARIABLES = 200
MAX_NUMBER_CHARACTERS = 64

_UNSUPPORTED = frozenset({"define", "template", "block", "break", "continue"})
_KEYWORDS = frozenset({"if", "with", "range", "else", "end"}) | _UNSUPPORTED
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "nil": None}
_OPERAND_KINDS = (Kind.TEXT, Kind.CHARACTER, Kind.NUMBER, Kind.FIELD, Kind.DOT, Kind.VARIABLE, Kind.WORD)
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\'\"])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))


def parse(text: str) -> tuple[node.Node, ...]:
    """Parse a template; raises `gotemplate_fault.Fault` at the first mistake."""
    return _TreeParser(lexer.cut(text), end=len(text)).parse()


class _TreeParser:
    """Parses pieces into nodes: the control structures."""

    def __init__(self, pieces: Iterator[lexer.TextPiece | lexer.ActionPiece], *, end: int) -> None:
        self._pieces = pieces
        self._end = end
        self._variables = ["$"]
        self._depth = 0

    def parse(self) -> tuple[node.Node, ...]:
        nodes, closing = self._nodes()
        if closing:
            raise fault.Fault(f"{value.excerpt(closing.source)} closes nothing", offset=closing.offset)
        return nodes

    def _nodes(self) -> tuple[tuple[node.Node, ...], lexer.ActionPiece | None]:
        """Parse up to an `{{else}}` or `{{end}}`, which is returned, or to the end of the text."""
        nodes: list[node.Node] = []
        for piece in self._pieces:
            if isinstance(piece, lexer.TextPiece):
                nodes.append(node.Text(piece.offset, piece.text))
                continue
            if not piece.tokens:
                raise fault.Fault("the action is empty", offset=piece.offset)
            keyword = _keyword(piece)
            if keyword in ("else", "end"):
                return tuple(nodes), piece
            nodes.append(self._action(piece, keyword))
        return tuple(nodes), None

    def _action(self, piece: lexer.ActionPiece, keyword: str) -> node.Node:
        if keyword in _UNSUPPORTED:
            raise fault.Fault(f"{{{{{keyword}}}}} is not supported here", offset=piece.offset)
        if keyword:
            return self._control(piece, keyword, piece.tokens[1:])
        parser = _ActionParser(piece, piece.tokens, self._variables)
        names, is_new = parser.names(most=1)
        if not names:
            return node.Print(piece.offset, parser.whole_pipeline(), piece.source)
        pipeline = parser.whole_pipeline()
        if is_new:
            self._define(names, piece)
        return node.Assign(piece.offset, names[0], is_new, pipeline)

    def _control(
        self, piece: lexer.ActionPiece, keyword: str, tokens: tuple[lexer.Token, ...]
    ) -> node.Branch | node.Range:
        """Parse an if, with or range from its condition to its end; its variables end with it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise fault.Fault(f"actions are nested deeper than {MAX_DEPTH} levels", offset=piece.offset)
        known = len(self._variables)
        parser = _ActionParser(piece, tokens, self._variables)
        names, is_new = parser.names(most=2 if keyword == "range" else 1)
        if names and not is_new:
            raise fault.Fault(f"make variables of {keyword} with :=", offset=piece.offset)
        pipeline = parser.whole_pipeline()
        self._define(names, piece)
        own = len(self._variables)
        body, closing = self._nodes()
        del self._variables[own:]
        otherwise = self._otherwise(piece, keyword, closing)
        del self._variables[known:]
        self._depth -= 1
        if keyword == "range":
            key_name, item_name = ("", "", *names)[-2:]
            return node.Range(piece.offset, key_name, item_name, pipeline, body, otherwise)
        return node.Branch(piece.offset, keyword == "with", names[0] if names else "", pipeline, body, otherwise)

    def _define(self, names: tuple[str, ...], piece: lexer.ActionPiece) -> None:
        self._variables.extend(names)
        if len(self._variables) > MAX_VARIABLES:
            raise fault.Fault(f"more than {MAX_VARIABLES} variables at once", offset=piece.offset)

    def _otherwise(
        self, piece: lexer.ActionPiece, keyword: str, closing: lexer.ActionPiece | None
    ) -> tuple[node.Node, ...]:
        """Parse what follows the body: nothing, an else, or an else if with its own."""
        if closing and _keyword(closing) == "else":
            rest = closing.tokens[1:]
            if rest and rest[0].text == keyword and keyword in ("if", "with"):
                return (self._control(closing, keyword, rest[1:]),)
            if rest:
                raise fault.Fault(f"unexpected {value.show(rest[0].text)} after else", offset=rest[0].offset)
            nodes, closing = self._nodes()
        else:
            nodes = ()
        if not closing:
            raise fault.Fault(
                f"{value.excerpt(piece.source)} is not closed; close it with {{{{end}}}}", offset=piece.offset
            )
        if _keyword(closing) == "else" or len(closing.tokens) > 1:
            raise fault.Fault(f"unexpected {value.excerpt(closing.source)}", offset=closing.offset)
        return nodes


def _keyword(piece: lexer.ActionPiece) -> str:
    first = piece.tokens[0]
    return first.text if first.kind == Kind.WORD and first.text in _KEYWORDS else ""


class _ActionParser:
    """Parses the tokens of one action: variables and a pipeline."""

    def __init__(self, piece: lexer.ActionPiece, tokens: tuple[lexer.Token, ...], variables: Iterable[str]) -> None:
        self._piece = piece
        self._tokens = tokens
        self._variables = variables
        self._at = 0
        self._depth = 0

    def names(self, *, most: int) -> tuple[tuple[str, ...], bool]:
        """Parse `$x :=`, `$i, $x :=` or `$x =`: the names, and whether they are new. Without them: none."""
        texts = [token.text for token in self._tokens[:4]]
        count = next((at for at, text in enumerate(texts) if text in (":=", "=")), 0)
        if not count:
            return (), False
        names = self._tokens[:count:2]
        if any(token.kind != Kind.VARIABLE or token.text == "$" for token in names) or any(
            text != "," for text in texts[1:count:2]
        ):
            raise self._fault("only variables such as $x can be set")
        if len(names) > most:
            raise self._fault("two variables can be set by range only")
        is_new = texts[count] == ":="
        for token in () if is_new else names:
            self._check_variable(token)
        self._at = count + 1
        return tuple(token.text for token in names), is_new

    def whole_pipeline(self) -> node.Pipeline:
        """Parse a pipeline up to the end of the action."""
        pipeline = self._pipeline()
        if token := self._peek():
            raise self._fault(f"unexpected {value.show(token.text)}")
        return pipeline

    def _pipeline(self) -> node.Pipeline:
        start = self._offset()
        commands = [self._command(is_first=True)]
        while self._skip("|"):
            commands.append(self._command(is_first=False))
        last = self._tokens[self._at - 1]
        source_end = last.offset + len(last.text) - self._piece.offset
        return node.Pipeline(start, tuple(commands), self._piece.source[start - self._piece.offset : source_end])

    def _command(self, *, is_first: bool) -> node.Command:
        offset = self._offset()
        function = self._function()
        arguments: list[node.Operand] = []
        while (token := self._peek()) and (token.kind in _OPERAND_KINDS or token.text == "("):
            if (arguments or function) and not token.is_spaced:
                raise self._fault(f"leave a space before {value.show(token.text)}")
            arguments.append(self._operand())
        if not function:
            if not arguments:
                raise self._fault("a value is missing")
            if len(arguments) > 1 or not is_first:
                raise fault.Fault("only a function can take arguments", offset=offset)
        return node.Command(offset, function, tuple(arguments))

    def _function(self) -> str:
        token = self._peek()
        if not token or token.kind != Kind.WORD or token.text in _CONSTANTS:
            return ""
        if token.text not in gotemplate_function.NAMES:
            known = ", ".join(sorted(gotemplate_function.NAMES))
            raise self._fault(f"the function {value.show(token.text)} is not defined; known are {known}")
        self._at += 1
        return token.text

    def _operand(self) -> node.Operand:
        token = self._tokens[self._at]
        match token.kind:
            case Kind.TEXT | Kind.CHARACTER | Kind.NUMBER:
                self._at += 1
                return node.Literal(token.offset, _constant(token))
            case Kind.WORD if token.text in _CONSTANTS:
                self._at += 1
                return node.Literal(token.offset, _CONSTANTS[token.text])
            case Kind.WORD:
                raise self._fault(f"put the call of {value.show(token.text)} in parentheses")
            case Kind.FIELD:
                return node.Field(token.offset, None, self._fields(is_start=True))
            case Kind.DOT:
                self._at += 1
                return node.Field(token.offset, None, ())
            case Kind.VARIABLE:
                self._check_variable(token)
                self._at += 1
                variable = node.Variable(token.offset, token.text)
                return node.Field(token.offset, variable, self._fields())
            case _:
                return node.Field(token.offset, self._parentheses(), self._fields())

    def _fields(self, *, is_start: bool = False) -> tuple[str, ...]:
        names: list[str] = []
        while (token := self._peek()) and token.kind == Kind.FIELD and (is_start or not token.is_spaced):
            names.append(token.text[1:])
            self._at += 1
            is_start = False
        return tuple(names)

    def _parentheses(self) -> node.Pipeline:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._fault(f"parentheses are nested deeper than {MAX_DEPTH} levels")
        self._at += 1
        pipeline = self._pipeline()
        if not self._skip(")"):
            raise self._fault("a closing parenthesis is missing")
        self._depth -= 1
        return pipeline

    def _check_variable(self, token: lexer.Token) -> None:
        if token.text not in self._variables:
            raise fault.Fault(f"the variable {value.excerpt(token.text)} is not defined", offset=token.offset)

    def _peek(self) -> lexer.Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _skip(self, text: str) -> bool:
        token = self._peek()
        is_there = token is not None and token.kind == Kind.PUNCTUATION and token.text == text
        self._at += is_there
        return is_there

    def _offset(self) -> int:
        token = self._peek()
        return token.offset if token else self._piece.offset

    def _fault(self, description: str) -> fault.Fault:
        return fault.Fault(description, offset=self._offset())


def _constant(token: lexer.Token) -> str | int | decimal.Decimal:
    if token.kind == Kind.NUMBER:
        return _number(token)
    if token.text[0] == "`":
        return token.text[1:-1].replace("\r", "")
    text = _unquote(token)
    if token.kind == Kind.TEXT:
        return text
    if len(text) != 1:
        raise fault.Fault("between single quotes there must be one character", offset=token.offset)
    return ord(text)


def _number(token: lexer.Token) -> int | decimal.Decimal:
    if len(token.text) <= MAX_NUMBER_CHARACTERS:
        try:
            if _INTEGER.fullmatch(token.text):
                # A leading zero means octal, which Python's own notation does not have.
                return int(token.text, 8 if re.fullmatch(r"[+-]?0[0-7_]+", token.text) else 0)
            if _DECIMAL.fullmatch(token.text):
                return decimal.Decimal(token.text)
        except ValueError:
            pass
    raise fault.Fault(f"{value.show(token.text)} is not a number", offset=token.offset)


def _unquote(token: lexer.Token) -> str:
    """Resolve the escapes of a quoted text; `\\x` and octal ones are bytes of UTF-8."""

    def resolve(found: re.Match[bytes]) -> bytes:
        simple, byte, short, long, octal, _ = (group.decode() if group else "" for group in found.groups())
        if simple:
            return _SIMPLE_ESCAPES[simple].encode()
        if short or long:
            return chr(int(short or long, 16)).encode()
        if byte or octal:
            return bytes([int(byte, 16) if byte else int(octal, 8)])
        raise ValueError(found[0])

    try:
        return _ESCAPE_BYTES.sub(resolve, token.text[1:-1].encode()).decode()
    except ValueError as exc:
        raise fault.Fault("the quoted text has an unknown escape, or is not UTF-8", offset=token.offset) from exc


_ESCAPE_BYTES = re.compile(_ESCAPE.pattern.encode(), re.DOTALL)
