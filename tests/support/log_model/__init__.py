"""An explicit model of the writers, of as much of PostgreSQL as the event log relies on, and of readers that run the
real rule: `tinkwell.server.log.read.state_machine` and `tail`.
"""
