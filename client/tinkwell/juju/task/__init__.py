"""Actions and commands that units are asked to run, as Juju has them."""
