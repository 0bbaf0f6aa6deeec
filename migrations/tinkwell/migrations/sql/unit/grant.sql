-- All of it is deleted for good once nothing needs it any more.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    namespace, charm, charm_chunk, application, unit, unit_event, relation, relation_end, relation_bag, relation_member,
    unit_relation, unit_member, storage, port, unit_state, deferred_notice, unit_log, unit_agent,
    secret, secret_revision, secret_grant, secret_reader, task, task_line
TO :"server_role";
GRANT USAGE ON SEQUENCE relation_member_entered TO :"server_role";
