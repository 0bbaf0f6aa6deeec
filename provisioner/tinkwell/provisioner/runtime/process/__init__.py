"""The runtime that runs actions as processes of this machine."""
