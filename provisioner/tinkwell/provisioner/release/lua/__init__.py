"""The scripts of charts, in Lua, which run in a limited child process.

`scripts` is the provisioner's side, with `registration` and `change`. The other modules run in the child. Nothing is
imported here, since neither process may load modules of the other.
"""
