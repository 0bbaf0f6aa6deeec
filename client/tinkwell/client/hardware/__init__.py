"""The client of hardware: machines, pushed, found and watched."""
