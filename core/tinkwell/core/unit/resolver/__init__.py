"""The rules of a unit's life, which only compute: no clock, no I/O.

`resolve` finds the next event from a ledger and a view, `advance` has the ledger after it, `verdict` says whether an
event that failed or was lost comes again, and `change` what a grant and a commit change beside the ledger.
"""
