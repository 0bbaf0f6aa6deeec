-- Removes every table, view, sequence, type and domain; triggers go with them. What drops the functions is `script.py`.

-- Partitions that were detached and not dropped yet hold what is forgotten already.
DO $$
DECLARE
    forgotten text;
BEGIN
    FOR forgotten IN SELECT partition_name FROM event_discard LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', forgotten);
    END LOOP;
END $$;

DROP VIEW busy_machine;
DROP TABLE machine_hold, workflow_data, log_line, action_status, action, workflow, template, self_enrolment,
    hardware_address, hardware, lease CASCADE;
DROP TABLE schema_file, schema_release;
DROP TABLE events, event_history, event_discard, event_position, bell, bell_secret CASCADE;
DROP SEQUENCE bell_wanted;
DROP TYPE action_move;
DROP DOMAIN resource_type, event_type, jsonb_document, lifecycle_state, template_text;
