"""The rules of units: which event of its life a unit gets next, as a charm's life is ordered.

A *ledger* is what a unit has been told, and only its own commits write it; a *view* is everything else as it is now.
`resolver` decides on both. The server, the world of tests and the library's own model decide by the same functions.
`invariant` judges what a watch shows of units, and `world` is applications and units without a server.
"""
