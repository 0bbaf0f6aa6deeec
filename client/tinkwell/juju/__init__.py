"""`tinkwell-juju`: the part of Juju's command line that tests of charms use, for applications that Tinkwell runs."""
