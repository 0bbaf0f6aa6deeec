"""Storms of a charm of ops in real processes, each event of which `ops.testing` is given as well."""
