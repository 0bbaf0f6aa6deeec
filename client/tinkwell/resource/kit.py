"""The kit for resource types of Tinkwell: one file, to be put beside your code. It needs Python 3.9 and nothing else.

    class File(Resource):
        config: Config                                  # a dataclass, from which the schema is made
        plugs = [Plug("files", "/files", writable=True)]

        async def discover(self): ...                   # returns the present state as a dict; None if nothing is there
        def actions(self, found): ...                   # returns what to do; an empty list if nothing must be done
        @action("write", "Write the file")
        async def write(self): ...
        async def destroy(self): ...                    # succeeds even if nothing is there

    run(File)

Each method may be `async def` or `def`, and fails by `fail("why")` or by any exception; what it prints goes to the log.
The images also run under Deployster: it gets only those parts of an answer that it knows.
"""

import json
import os
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn, Optional, TypeVar, Union

INIT, STATE, DESTROY = "init", "state", "destroy"
_MARK = "_tinkwell_action"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}

Method = TypeVar("Method", bound=Callable[..., Any])


class Mistake(Exception):
    """The class of a resource has a mistake, or one of its methods returns a wrong value."""


class Plug(NamedTuple):
    """A file or folder of the host; `container_path` is its path in a container. `Resource.plug` returns its path."""

    name: str
    container_path: str
    writable: bool = False
    optional: bool = False


class Action(NamedTuple):
    """A call that changes a resource: `name` is an action of the class, and its method gets the texts of `args`.

    With an `image` or an `entrypoint`, the action is another program, and `args` is its command line.
    """

    name: str
    description: str = ""
    args: Sequence[str] = ()
    image: str = ""
    entrypoint: str = ""


def action(name: str, description: str = "") -> Callable[[Method], Method]:
    """Make a method of a resource the action of this name. The image is called with the method's name as argument."""

    def mark(method: Method) -> Method:
        # `@action` without a call gives no name. `run` reports this mistake.
        setattr(method, _MARK, Action("" if callable(name) else name, description))
        return method

    return mark(name) if callable(name) else mark


class Resource:
    """One resource during one call of its image. Your class says how resources of its type are found and changed."""

    config: Any  # the config of the manifest: a dict, unless the class declares config: SomeDataclass
    config_schema: ClassVar[Mapping[str, Any]] = {}  # the JSON Schema of a config that is a dict
    plugs: ClassVar[Sequence[Plug]] = ()
    sensitive: ClassVar[Sequence[str]] = ()  # JSON pointers into config and state, such as /password
    timeouts: ClassVar[Mapping[str, int]] = {}  # seconds by state, action, destroy and ready
    retry: ClassVar[Mapping[str, Any]] = {}  # attempts, delay_seconds and exit_codes
    poll_seconds: ClassVar[Optional[int]] = None  # a resource not VALID after its actions is asked at this interval
    concurrency_key: ClassVar[str] = ""  # of all resources with the same key, one at a time runs actions
    read_only_state: ClassVar[bool] = True  # False if discover changes something

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given  # all of standard input
        self.name: str = given.get("name", "")
        self.type: str = given.get("type", "")
        self.release: str = given.get("release", "")
        self.verbose: bool = given.get("verbose", False)
        self.workspace = Path(given.get("workspace", "."))
        self.stale_state: dict[str, Any] = given.get("staleState") or {}  # in actions: what discover returned before
        self.last_state: dict[str, Any] = given.get("state") or {}  # in destroy: the last known state
        if "config" in given:
            self.config = _read(_config_type(type(self)), given["config"], "config")

    def discover(self) -> Any:
        """Return the present state as a dict, best with the fields of the config; None if the thing does not exist."""
        raise Mistake(f"{_name(self)} has no discover(); it must return the present state as a dict, or None")

    def actions(self, found: Any) -> Any:
        """Return a list of the actions that turn the found state into the wanted one; empty if nothing must be done.

        By default it is the only action of the class, if nothing was found or the state differs from the config.
        """
        known = list(_actions_of(type(self)).values())
        if len(known) != 1:
            raise Mistake(f"{_name(self)} has {len(known)} actions; let its actions(found) say which ones to run")
        return [Action(known[0].name)] if found is None or difference(self.config, found) else []

    def destroy(self) -> Any:
        """Remove the thing; succeed if it does not exist. Without this method, resources are left in place."""
        raise Mistake(f"{_name(self)} has no destroy(); its resources are left in place")

    def plug(self, name: str) -> Path:
        """Return the path of a plug. If an optional plug was not given, nothing exists at its path."""
        for each in self.plugs:
            if each.name == name:
                # A process gets the path of a plug in a variable; in a container it is the path that the plug asks for.
                variable = f"TINKWELL_PLUG_{name.upper().replace('-', '_')}"
                return Path(os.environ.get(variable, each.container_path))
        raise Mistake(f"{_name(self)} has no plug {name!r}; declare it in plugs")


def difference(desired: Any, found: Any) -> list[str]:
    """Return the paths, such as `disks[0].size`, at which `found` differs from `desired`; "" is the whole value.

    Found members that are not desired are ignored, and so are fields that are None. A list of another length differs.
    """
    return list(_differing("", _plain(desired), _plain(found)))


def fail(message: str, exit_code: int = 1) -> NoReturn:
    """End the call as failed, with a sentence that gives the reason."""
    print(message, file=sys.stderr)
    sys.exit(exit_code)


def run(resource: type[Resource]) -> None:
    """Answer the call for which this process was started, by its arguments and the JSON object on standard input."""
    arguments = sys.argv[1:] or [INIT]
    try:
        _check(resource)
        given = _given(resource, arguments[0])
        if arguments[0] in (INIT, STATE):
            _answer(lambda: _init(resource, given) if arguments[0] == INIT else _state(resource(given)))
        else:
            _finish(getattr(resource(given), arguments[0])(*arguments[1:]))
    except Mistake as error:
        fail(str(error))


def _given(resource: type[Resource], call: str) -> Mapping[str, Any]:
    calls = (INIT, STATE, *_actions_of(resource), DESTROY)
    if call not in calls:
        raise Mistake(f"there is no call {call!r}; there are {', '.join(calls)}")
    try:
        given = json.load(sys.stdin)
    except ValueError as error:
        raise Mistake(f"standard input must be one JSON object: {error}") from None
    if not isinstance(given, dict) or (call != INIT and "config" not in given):
        raise Mistake(f"standard input must be one JSON object, for {call} with the member config")
    return given


def _answer(ask: Callable[[], Mapping[str, Any]]) -> None:
    """Write an answer to standard output. All that the process and its children print goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        answer = ask()
        sys.stdout.flush()
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    _check_json("the answer has", answer)
    print(json.dumps(answer), flush=True)


def _finish(value: Any) -> Any:
    """Return the result of a method, which may be `async`."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio  # the import takes 50 ms, so methods without `async` do not need it

    return asyncio.run(value)


def _init(resource: type[Resource], given: Mapping[str, Any]) -> dict[str, Any]:
    schema = _schema_of(resource)
    answer: dict[str, Any] = {"state_action": {"args": [STATE]}}
    if schema:
        answer["config_schema"] = schema
    if resource.plugs:
        answer["plugs"] = {plug.name: dict(zip(Plug._fields[1:], plug[1:])) for plug in resource.plugs}
    if "protocol" in given:  # Deployster does not send it, and refuses the member below
        answer["tinkwell"] = _extension(resource, schema)
    return answer


def _extension(resource: type[Resource], schema: Mapping[str, Any]) -> dict[str, Any]:
    sensitive = [*resource.sensitive, *(each for each in _write_only(schema, "") if each not in resource.sensitive)]
    said = {
        "destroy_action": {"args": [DESTROY]} if resource.destroy is not Resource.destroy else None,
        "timeouts": dict(resource.timeouts),
        "retry": dict(resource.retry),
        "readiness": {"poll_seconds": resource.poll_seconds} if resource.poll_seconds is not None else None,
        "sensitive": sensitive,
        "concurrency_key": resource.concurrency_key,
    }
    extension = {"protocol": 1, **{key: value for key, value in said.items() if value}}
    return extension if resource.read_only_state else {**extension, "read_only_state": False}


def _state(resource: Resource) -> dict[str, Any]:
    found = _plain(_finish(resource.discover()))
    if found is not None and not isinstance(found, dict):
        raise Mistake(f"{_name(resource)}.discover returned a {type(found).__name__}; it must return a dict, or None")
    _check_json(f"{_name(resource)}.discover returned", found)
    due = _finish(resource.actions(found))
    if not isinstance(due, list):
        raise Mistake(f"{_name(resource)}.actions returned a {type(due).__name__}; it must return a list of Action(…)")
    if not due and found is None:
        raise Mistake(f"{_name(resource)}.discover found nothing, so its actions(None) must return an action")
    if not due:
        return {"status": "VALID", "state": found}
    actions = [_action(resource, each) for each in due]
    return {"status": "STALE", "actions": actions, **({} if found is None else {"staleState": found})}


def _action(resource: Resource, asked: Any) -> dict[str, Any]:
    if not isinstance(asked, Action):
        raise Mistake(f"{_name(resource)}.actions returned {asked!r} in its list; write Action({str(asked)!r})")
    _check_name(f"an Action that {_name(resource)}.actions returned", asked.name)
    args, description = list(asked.args), asked.description
    if not asked.image and not asked.entrypoint:
        known = {each.name: (method, each) for method, each in _actions_of(type(resource)).items()}
        if asked.name not in known:
            raise Mistake(f"{_name(resource)} has no action {asked.name!r}; it has {', '.join(known) or 'none'}")
        method, own = known[asked.name]
        args, description = [method, *args], description or own.description
    said = {"description": description, "image": asked.image, "entrypoint": asked.entrypoint, "args": args}
    return {"name": asked.name, **{key: value for key, value in said.items() if value}}


def _actions_of(resource: type[Resource]) -> dict[str, Action]:
    """Return the actions of a class by the names of their methods, in the order of the class."""
    members = (each for owner in reversed(resource.__mro__) for each in vars(owner).items())
    return {method: getattr(value, _MARK) for method, value in members if hasattr(value, _MARK)}


def _check(resource: Any) -> None:
    """Raise `Mistake` for a mistake in the class that matters for every call."""
    if not isinstance(resource, type) or not issubclass(resource, Resource):
        raise Mistake(f"run({resource!r}) needs a subclass of Resource; write class Name(Resource) and run(Name)")
    name = resource.__name__
    if resource.discover is Resource.discover:
        resource({}).discover()
    known = {each for each in (*Resource.__annotations__, *vars(Resource)) if not each.startswith("_")}
    own = {each for owner in resource.__mro__ if issubclass(owner, Resource) for each in vars(owner)}
    for word in sorted({*own, *_hints(resource)} - known - _actions_of(resource).keys()):
        import difflib  # only classes with further names need it

        if not word.startswith("_") and (near := difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.8)):
            raise Mistake(f"{name}.{word} is unknown to the kit; did you mean {near[0]}? If not, begin it with _")
    named: dict[str, str] = {}
    for method, each in _actions_of(resource).items():
        _check_name(f"the action of {name}.{method}", each.name)
        if method in (INIT, STATE) or hasattr(Resource, method):
            raise Mistake(f"an action of {name} is the method {method}, a name with another meaning; rename the method")
        if each.name in named:
            raise Mistake(f"{name}.{named[each.name]} and {name}.{method} are both the action {each.name!r}")
        named[each.name] = method


def _check_json(what: str, value: Any, path: str = "") -> None:
    """Raise `Mistake` for a value that JSON cannot hold, with its innermost place."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        members = dict(enumerate(value)) if isinstance(value, (list, tuple)) else value
        for key, each in members.items() if isinstance(members, dict) else ():
            _check_json(what, each, f"{path}.{key}" if path else str(key))
        raise Mistake(f"{what} a value that JSON cannot hold{path and f', as {path}'}: {error}") from None


def _config_type(resource: type[Resource]) -> Any:
    """Return the dataclass that a class declares as its config; `Any` if it declares none."""
    declared = _hints(resource).get("config", Any)
    return declared if hasattr(declared, "__dataclass_fields__") else Any


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError) as error:
        raise Mistake(f"{kind.__name__} has an annotation that cannot be read: {error}") from None


def _schema_of(resource: type[Resource]) -> Mapping[str, Any]:
    config = _config_type(resource)
    if config is Any:
        return resource.config_schema
    if resource.config_schema:
        raise Mistake(f"{resource.__name__} has both config_schema and config: {config.__name__}; leave one out")
    return _schema(config, config.__name__)


def _schema(kind: Any, where: str) -> dict[str, Any]:
    """Return the JSON Schema of a type; the metadata of a dataclass's fields are added to it."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in _TYPES:
        return {"type": _TYPES[kind]}
    if kind is Any:
        return {}
    if hasattr(kind, "__dataclass_fields__"):
        return _object_schema(kind)
    if origin in (list, Sequence):
        return {"type": "array", "items": _schema(inner[0], f"{where}[]")}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1], f"{where}.*")}
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is Union or getattr(origin, "__name__", "") == "UnionType":
        found = [_schema(each, where) for each in inner if each is not type(None)]
        return found[0] if len(found) == 1 else {"anyOf": found}
    raise Mistake(f"{where} is a {kind!r}; use str, int, float, bool, list, dict, Literal, Optional or a dataclass")


def _object_schema(kind: Any) -> dict[str, Any]:
    import dataclasses

    hints, fields, none = _hints(kind), dataclasses.fields(kind), dataclasses.MISSING
    required = [each.name for each in fields if each.default is none and each.default_factory is none]
    own = {name: _schema(hint, f"{kind.__name__}.{name}") for name, hint in hints.items()}
    properties = {each.name: {**own[each.name], **each.metadata} for each in fields}
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": required} if required else schema  # Draft 4 allows no empty list here


def _write_only(schema: Mapping[str, Any], pointer: str) -> Iterable[str]:
    """Yield the JSON pointers of the values that a schema marks as `writeOnly`."""
    if schema.get("writeOnly") is True:
        yield pointer
    for key, inner in schema.get("properties", {}).items():
        yield from _write_only(inner, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")


def _read(kind: Any, value: Any, where: str) -> Any:
    """Return a value of a config in its declared type: an object becomes a dataclass if one is declared."""
    inner = typing.get_args(kind)
    if hasattr(kind, "__dataclass_fields__"):
        hints = _hints(kind)
        if not isinstance(value, dict) or not hints.keys() >= value.keys():
            raise Mistake(f"{where} must be an object, and may have the fields {', '.join(hints)}")
        try:
            return kind(**{key: _read(hints[key], each, f"{where}.{key}") for key, each in value.items()})
        except TypeError as error:
            raise Mistake(f"{where} is incomplete: {error}") from None
    if inner and isinstance(value, list):
        return [_read(inner[0], each, f"{where}[{index}]") for index, each in enumerate(value)]
    if inner and isinstance(value, dict) and typing.get_origin(kind) in (dict, Mapping):
        return {key: _read(inner[1], each, f"{where}.{key}") for key, each in value.items()}
    return _read(inner[0], value, where) if inner and isinstance(value, dict) else value  # Optional[…]


def _plain(value: Any) -> Any:
    """Return a value with dicts for its dataclasses, without fields that are None."""
    if hasattr(value, "__dataclass_fields__"):
        fields = {key: getattr(value, key) for key in value.__dataclass_fields__}
        value = {key: each for key, each in fields.items() if each is not None}
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _differing(path: str, desired: Any, found: Any) -> Iterable[str]:
    if isinstance(desired, dict) and isinstance(found, dict):
        for key, value in desired.items():
            at = f"{path}.{key}" if path else str(key)
            if key not in found:
                yield at
            else:
                yield from _differing(at, value, found[key])
    elif isinstance(desired, list) and isinstance(found, list) and len(desired) == len(found):
        for index, (wanted, there) in enumerate(zip(desired, found)):
            yield from _differing(f"{path}[{index}]", wanted, there)
    elif isinstance(desired, bool) is not isinstance(found, bool) or desired != found:  # in Python, True equals 1
        yield path


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise Mistake(f"{what} is called {name!r}; give it a name without slashes")


def _name(resource: Resource) -> str:
    return type(resource).__name__
