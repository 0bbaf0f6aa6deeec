DROP TABLE lease, workflow_data, log_line, action_status, action, workflow, template, hardware_address, hardware CASCADE;
DROP TABLE events, event_history, event_position, bell CASCADE;
DROP FUNCTION count_version, check_transition, check_workflow_size, keep_addresses, refuse_truncate, change_type, event_name,
    ring_bell, may_sleep, log_identity, current_history, first_revision_since, current_actor, time_member,
    record_event, publish_event, phone_home, record_hardware, record_template, record_workflow, record_action CASCADE;
DROP DOMAIN resource_type, event_type, event_size, jsonb_document, lifecycle_state, template_text;
