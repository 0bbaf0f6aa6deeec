"""The rules of units: they decide which event of its life a unit gets next.

A *ledger* records what a unit has been told; only commits of its own events write it. A *view* holds all other facts
that the decision depends on, as they are now. `resolver` decides from both. The server, the in-memory world of tests
and the library's own model call the same functions. `invariant` checks the unit entries of a log, and `world` keeps
applications and units without a server.
"""
