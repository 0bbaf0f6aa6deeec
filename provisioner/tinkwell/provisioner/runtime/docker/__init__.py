"""The runtime that runs actions in containers of a Docker Engine."""
