"""The kit for authors of resource types: `kit` is one file, which goes into their images beside their code.

`tinkwell resource init` puts it there. Nothing of ours is imported here, nor anything beyond the standard library.
"""

from tinkwell.resource.kit import Action, Mistake, Plug, Resource, action, difference, fail, run

__all__ = ["Action", "Mistake", "Plug", "Resource", "action", "difference", "fail", "run"]
