"""The scripts of charts, in Lua, which run in a limited child process.

`scripts` is the provisioner's side, with `registration` and `change`. Everything else runs in the child, and nothing is
imported here, since the two must not load what only the other needs.
"""
