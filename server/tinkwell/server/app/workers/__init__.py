"""Several processes behind one port: a supervisor that keeps them running, and the worker that each of them is."""
