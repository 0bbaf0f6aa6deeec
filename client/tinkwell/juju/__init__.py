"""`tinkwell-juju`: as much of Juju's command line as tests of charms use, for applications that Tinkwell runs."""
