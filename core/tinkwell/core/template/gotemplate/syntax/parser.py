"""Parses a Go template into its syntax tree, and refuses what the language does not have."""

import difflib
from collections.abc import Iterable, Iterator

from tinkwell.core.template.gotemplate import fault
from tinkwell.core.template.gotemplate.function import advice
from tinkwell.core.template.gotemplate.function import table as gotemplate_function
from tinkwell.core.template.gotemplate.function import text as text_function
from tinkwell.core.template.gotemplate.syntax import constant, lexer, node
from tinkwell.core.template.gotemplate.syntax.lexer import Kind
from tinkwell.core.value import parse as value

MAX_DEPTH = 50
MAX_VARIABLES = 200
MAX_NAME_CHARACTERS = 100
# At most this number of definitions is searched for the most similar name.
MAX_COMPARED = 100

_KEYWORDS = frozenset({"if", "with", "range", "else", "end", "define", "template", "block", "break", "continue"})
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "nil": None}
_OPERAND_KINDS = (Kind.TEXT, Kind.CHARACTER, Kind.NUMBER, Kind.FIELD, Kind.DOT, Kind.VARIABLE, Kind.WORD)


def parse(text: str) -> node.Tree:
    """Parse a template; raises `fault.Fault` at the first mistake."""
    return _TreeParser(lexer.cut(text), end=len(text)).parse()


class _TreeParser:
    """Parses pieces into nodes: the control structures."""

    def __init__(self, pieces: Iterator[lexer.TextPiece | lexer.ActionPiece], *, end: int) -> None:
        self._pieces = pieces
        self._end = end
        self._variables = ["$"]
        self._depth = 0
        self._loops = 0
        self._definitions: dict[str, tuple[node.Node, ...]] = {}
        self._inserts: list[node.Insert] = []

    def parse(self) -> node.Tree:
        nodes, closing = self._nodes()
        if closing:
            raise fault.Fault(f"{value.excerpt(closing.source)} closes nothing", offset=closing.offset)
        for insert in self._inserts:
            if insert.name not in self._definitions:
                raise fault.Fault(self._missing(insert.name), offset=insert.offset)
        return node.Tree(nodes, self._definitions)

    def _missing(self, name: str) -> str:
        problem = f"the template {value.show(name)} is not defined"
        near = difflib.get_close_matches(name, [*self._definitions][:MAX_COMPARED], n=1)
        return (
            f"{problem}; did you mean {value.show(near[0])}?" if near else f"{problem}; define it with {{{{define}}}}"
        )

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
            if keyword == "define":
                self._define_template(piece)
            else:
                nodes.append(self._action(piece, keyword))
        return tuple(nodes), None

    def _action(self, piece: lexer.ActionPiece, keyword: str) -> node.Node:
        match keyword:
            case "template":
                return self._insert(piece, self._name(piece))
            case "block":
                return self._block(piece)
            case "break" | "continue":
                return self._leave(piece, keyword)
            case "if" | "with" | "range":
                return self._control(piece, keyword, piece.tokens[1:])
        parser = _ActionParser(piece, piece.tokens, self._variables)
        names, is_new = parser.names(most=1)
        if not names:
            pipeline = parser.whole_pipeline()
            return node.Print(piece.offset, pipeline, piece.source, _lead(pipeline))
        pipeline = parser.whole_pipeline()
        if is_new:
            self._define(names, piece)
        return node.Assign(piece.offset, names[0], is_new, pipeline)

    def _control(
        self, piece: lexer.ActionPiece, keyword: str, tokens: tuple[lexer.Token, ...]
    ) -> node.Branch | node.Range:
        """Parse an if, with or range from its condition to its end; its variables end with it."""
        self._enter(piece)
        known = len(self._variables)
        parser = _ActionParser(piece, tokens, self._variables)
        names, is_new = parser.names(most=2 if keyword == "range" else 1)
        if names and not is_new:
            raise fault.Fault(f"make variables of {keyword} with :=", offset=piece.offset)
        pipeline = parser.whole_pipeline()
        self._define(names, piece)
        own = len(self._variables)
        self._loops += keyword == "range"
        body, closing = self._nodes()
        self._loops -= keyword == "range"
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
        """Parse the part after the body: nothing, an else, or an else if with its own parts."""
        if closing and _keyword(closing) == "else":
            rest = closing.tokens[1:]
            if rest and rest[0].text == keyword and keyword in ("if", "with"):
                return (self._control(closing, keyword, rest[1:]),)
            if rest:
                raise fault.Fault(f"unexpected {value.show(rest[0].text)} after else", offset=rest[0].offset)
            nodes, closing = self._nodes()
        else:
            nodes = ()
        _check_end(_closed(piece, closing))
        return nodes

    def _define_template(self, piece: lexer.ActionPiece) -> None:
        """Parse `{{define "name"}}` up to its end. As in Go, it must not be within another action."""
        if self._depth:
            raise fault.Fault("{{define}} must stand outside of all other actions; move it", offset=piece.offset)
        name = self._name(piece)
        if len(piece.tokens) > 2:
            raise fault.Fault(f"unexpected {value.show(piece.tokens[2].text)}", offset=piece.tokens[2].offset)
        self._define_body(piece, name)

    def _block(self, piece: lexer.ActionPiece) -> node.Insert:
        """Parse `{{block "name" pipeline}}`, which defines a template and inserts it at once."""
        name = self._name(piece)
        insert = self._insert(piece, name)
        if not insert.pipeline:
            raise fault.Fault("{{block}} needs a value behind its name, such as a dot", offset=piece.offset)
        self._define_body(piece, name)
        return insert

    def _define_body(self, piece: lexer.ActionPiece, name: str) -> None:
        """Parse a definition, which does not see the variables and the range around it."""
        around = self._variables, self._loops
        self._variables, self._loops = ["$"], 0
        self._enter(piece)
        body, closing = self._nodes()
        self._depth -= 1
        self._variables, self._loops = around
        _check_end(_closed(piece, closing))
        known = self._definitions.get(name, ())
        if not (_is_empty(known) or _is_empty(body)):
            raise fault.Fault(f"the template {value.show(name)} is defined twice", offset=piece.offset)
        # As in Go, an empty definition does not replace another one.
        self._definitions[name] = body if _is_empty(known) else known

    def _insert(self, piece: lexer.ActionPiece, name: str) -> node.Insert:
        tokens = piece.tokens[2:]
        pipeline = _ActionParser(piece, tokens, self._variables).whole_pipeline() if tokens else None
        insert = node.Insert(piece.offset, name, pipeline)
        self._inserts.append(insert)
        return insert

    def _name(self, piece: lexer.ActionPiece) -> str:
        keyword, *tokens = piece.tokens
        name = constant.constant(tokens[0]) if tokens and tokens[0].kind == Kind.TEXT else None
        if not isinstance(name, str):
            raise fault.Fault(f'{keyword.text} needs a name in quotes, such as "network"', offset=piece.offset)
        if len(name) > MAX_NAME_CHARACTERS:
            raise fault.Fault(f"the name has more than {MAX_NAME_CHARACTERS} characters", offset=tokens[0].offset)
        return name

    def _leave(self, piece: lexer.ActionPiece, keyword: str) -> node.Leave:
        if len(piece.tokens) > 1:
            raise fault.Fault(f"unexpected {value.show(piece.tokens[1].text)}", offset=piece.tokens[1].offset)
        if not self._loops:
            raise fault.Fault(f"{{{{{keyword}}}}} must stand within {{{{range}}}}", offset=piece.offset)
        return node.Leave(piece.offset, goes_on=keyword == "continue")

    def _enter(self, piece: lexer.ActionPiece) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise fault.Fault(f"actions are nested deeper than {MAX_DEPTH} levels", offset=piece.offset)


def _closed(piece: lexer.ActionPiece, closing: lexer.ActionPiece | None) -> lexer.ActionPiece:
    if not closing:
        raise fault.Fault(
            f"{value.excerpt(piece.source)} is not closed; close it with {{{{end}}}}", offset=piece.offset
        )
    return closing


def _check_end(closing: lexer.ActionPiece) -> None:
    if _keyword(closing) == "else" or len(closing.tokens) > 1:
        raise fault.Fault(f"unexpected {value.excerpt(closing.source)}", offset=closing.offset)


def _is_empty(nodes: Iterable[node.Node]) -> bool:
    return all(isinstance(one, node.Text) and not one.text.strip(lexer.SPACE) for one in nodes)


def _lead(pipeline: node.Pipeline) -> str | None:
    """Return the indentation of a value's lines where it is printed; None if they are not indented."""
    match pipeline.commands[-1]:
        case node.Command(function="indent" | "nindent" as name, arguments=[node.Literal(value=int() as width), *_]):
            if 0 <= width <= text_function.MAX_INDENT:
                return ("\n" if name == "nindent" else "") + " " * width
    return None


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
        """Parse `$x :=`, `$i, $x :=` or `$x =`: the names, and whether they are new. Without them: no names."""
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
            hint = advice.advise(token.text, gotemplate_function.NAMES)
            raise self._fault(f"the function {value.show(token.text)} is not defined; {hint}")
        self._at += 1
        return token.text

    def _operand(self) -> node.Operand:
        token = self._tokens[self._at]
        match token.kind:
            case Kind.TEXT | Kind.CHARACTER | Kind.NUMBER:
                self._at += 1
                return node.Literal(token.offset, constant.constant(token))
            case Kind.WORD if token.text in _CONSTANTS:
                self._at += 1
                return node.Literal(token.offset, _CONSTANTS[token.text])
            case Kind.WORD if token.text in gotemplate_function.WITHOUT_ARGUMENTS:
                self._at += 1
                call = node.Command(token.offset, token.text, ())
                return node.Field(token.offset, node.Pipeline(token.offset, (call,), token.text), self._fields())
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
