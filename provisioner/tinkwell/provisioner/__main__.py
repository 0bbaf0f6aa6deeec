"""Makes `python -m tinkwell.provisioner` the same as `tinkwell provisioner`."""

from tinkwell.provisioner.app import commands

if __name__ == "__main__":
    commands.provisioner(prog_name="tinkwell provisioner")
