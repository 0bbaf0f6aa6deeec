-- Removes applications and all that belongs to them, and their events, which no reader of the former release could pass.
-- Readers take the revisions of those for rolled back.

DROP TABLE unit_agent, unit_log, deferred_notice, unit_state, port, unit_member, unit_relation, relation_member,
    relation_end, relation_bag, storage, relation, unit_event, unit, application, charm_chunk, charm, namespace CASCADE;
DROP SEQUENCE relation_member_entered;
DROP FUNCTION check_unit_transition, check_unit_event_transition, count_config_version, count_bag_version,
    write_namespace_event, write_charm_event, write_application_event, write_unit_event, write_unit_event_event,
    write_relation_event, write_relation_bag_event, write_storage_event;
DROP DOMAIN charm_kind, unit_profile, unit_life, unit_phase, unit_event_state, unit_name,
    unit_full_name, unit_document, charm_data;

ALTER TABLE events DISABLE TRIGGER events_kept;
DELETE FROM events
 WHERE resource_type IN ('NAMESPACE', 'CHARM', 'APPLICATION', 'UNIT', 'UNIT_EVENT', 'RELATION', 'STORAGE');
ALTER TABLE events ENABLE ALWAYS TRIGGER events_kept;

ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known CHECK (
    VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM')
    OR VALUE IN ('CHART', 'RELEASE', 'OPERATION', 'NODE', 'STEP', 'LIFECYCLE')
);
ALTER DOMAIN event_type DROP CONSTRAINT event_type_known;
ALTER DOMAIN event_type ADD CONSTRAINT event_type_known CHECK (
    VALUE IN ('CREATED', 'UPDATED', 'DELETED')
    OR VALUE IN ('ACTION_STARTED', 'ACTION_RETRYING', 'ACTION_SUCCEEDED', 'ACTION_FAILED', 'ACTION_TIMEOUT',
                 'ACTION_CANCELLED')
    OR VALUE IN ('WORKFLOW_STARTED', 'WORKFLOW_INPROGRESS', 'WORKFLOW_SUCCEEDED', 'WORKFLOW_FAILED', 'WORKFLOW_TIMEOUT',
                 'WORKFLOW_CANCELLED')
    OR VALUE IN ('HARDWARE_PHONE_HOME', 'CUSTOM')
    OR VALUE IN ('STEP_STARTED', 'STEP_RETRYING', 'STEP_SUCCEEDED', 'STEP_FAILED', 'STEP_TIMEOUT', 'STEP_CANCELLED')
    OR VALUE IN ('NODE_STARTED', 'NODE_READY', 'NODE_FAILED', 'NODE_SKIPPED', 'NODE_REMOVED', 'NODE_LEFT')
    OR VALUE IN ('RELEASE_DEPLOYED', 'RELEASE_FAILED', 'RELEASE_UNINSTALLED', 'OPERATION_STARTED', 'OPERATION_SUCCEEDED',
                 'OPERATION_FAILED', 'OPERATION_TIMEOUT', 'OPERATION_CANCELLED')
    OR VALUE IN ('RELEASE_DRIFTED', 'LIFECYCLE_EMITTED')
);
