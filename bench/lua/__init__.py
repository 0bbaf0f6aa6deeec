"""What a handler in Lua costs, from the call to its answer."""

from bench.lua.case import run

__all__ = ["run"]
