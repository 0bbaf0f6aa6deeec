-- The log is read. Events are written by functions that run as the owner, and so is what else servers may change here.
GRANT SELECT ON events, event_history, event_discard TO :"server_role";
GRANT SELECT ON SEQUENCE events_revision TO :"server_role";
-- UPDATE is what it takes to lock the table, which is empty.
GRANT UPDATE ON relay TO :"server_role";
GRANT SELECT, INSERT, UPDATE ON event_position TO :"server_role";
GRANT EXECUTE ON FUNCTION
    current_history, renew_history, log_identity, first_revision_since, bell_channel, request_bell, silence_bell, mend_bell,
    publish_event
TO :"server_role";
