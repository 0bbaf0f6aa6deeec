"""Tasks: what people ask a unit to run beside its events, and how it is granted and ended."""
