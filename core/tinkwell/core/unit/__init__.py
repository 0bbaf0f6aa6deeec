"""The rules of units: which event of its life a unit gets next, as a charm's life is ordered.

A *ledger* is what a unit has been told, and only its own commits write it; a *view* is everything else as it is now.
`resolve` finds the next event from both, `advance` has the ledger after it, `verdict` says whether an event that failed
or was lost comes again, and `change` what a grant and a commit change beside the ledger. Nothing here reads a clock or
does I/O: the server, the world of tests and the library's own model decide by the same functions.
"""
