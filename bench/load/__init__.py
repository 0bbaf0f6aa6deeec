"""Load generators that several benchmarks share; each module runs as a process of its own."""
