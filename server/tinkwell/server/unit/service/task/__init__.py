"""Tasks, which people ask a unit to run besides its events: how they are requested, granted and ended."""
