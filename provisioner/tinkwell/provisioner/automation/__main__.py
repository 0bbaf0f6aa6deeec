"""Makes `python -m tinkwell.provisioner.automation` the same as `tinkwell automation`."""

from tinkwell.provisioner.automation import commands

if __name__ == "__main__":
    commands.automation(prog_name="tinkwell automation")
