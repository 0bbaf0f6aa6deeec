-- Removes releases, and their events, which no reader of the former release could pass. Readers take the revisions of
-- those for rolled back.

DROP FUNCTION check_release_transition, check_superseded, write_release_event, write_operation_event, write_node_event,
    write_step_event, release_shape, operation_shape, node_shape, step_shape CASCADE;
DROP TABLE release_resource, step_log, step, node, operation, release_revision, release;
DROP DOMAIN release_state, revision_state, operation_kind, operation_phase, node_kind, node_task, node_state, step_kind,
    resource_status, release_document, resource_config, resource_answer;

DELETE FROM events WHERE resource_type IN ('RELEASE', 'OPERATION', 'NODE', 'STEP');

ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known
    CHECK (VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM'));
ALTER DOMAIN event_type DROP CONSTRAINT event_type_known;
ALTER DOMAIN event_type ADD CONSTRAINT event_type_known CHECK (
    VALUE IN ('CREATED', 'UPDATED', 'DELETED')
    OR VALUE IN ('ACTION_STARTED', 'ACTION_RETRYING', 'ACTION_SUCCEEDED', 'ACTION_FAILED', 'ACTION_TIMEOUT',
                 'ACTION_CANCELLED')
    OR VALUE IN ('WORKFLOW_STARTED', 'WORKFLOW_INPROGRESS', 'WORKFLOW_SUCCEEDED', 'WORKFLOW_FAILED', 'WORKFLOW_TIMEOUT',
                 'WORKFLOW_CANCELLED')
    OR VALUE IN ('HARDWARE_PHONE_HOME', 'CUSTOM')
);
