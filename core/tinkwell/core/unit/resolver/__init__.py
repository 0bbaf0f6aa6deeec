"""The rules of a unit's life as pure functions: no clock, no I/O.

`resolve` finds the next event from a ledger and a view, `advance` returns the ledger after the event, `verdict` says
whether an event that failed or was lost comes again, and `change` returns what a grant and a commit change outside the
ledger.
"""
