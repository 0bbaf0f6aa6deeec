"""Benchmarks: what Tinkwell's event log costs and gives, beside the designs it replaces and beside etcd.

`python -m bench` runs them; README.md here says how to add one.
"""
