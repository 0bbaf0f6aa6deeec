-- Removes secrets, tasks, applications of charms that were written for Juju, and their events, which no reader of the former
-- release could pass. Readers take the revisions of those for rolled back.

DO $$
DECLARE
    gone uuid[] := ARRAY(
        SELECT a.id FROM application a JOIN charm c ON c.digest = a.charm WHERE c.kind = 'OPS'
        UNION
        SELECT u.application_id FROM unit u JOIN charm c ON c.digest IN (u.charm, u.charm_seen) WHERE c.kind = 'OPS'
    );
BEGIN
    UPDATE storage SET unit_id = NULL, unit = '', is_attached = false
     WHERE unit_id IN (SELECT id FROM unit WHERE application_id = ANY (gone));
    DELETE FROM unit_member WHERE member_id IN (SELECT id FROM unit WHERE application_id = ANY (gone));
    DELETE FROM relation
     WHERE id IN (SELECT relation_id FROM relation_end WHERE application_id = ANY (gone));
    DELETE FROM unit WHERE application_id = ANY (gone);
    DELETE FROM application WHERE id = ANY (gone);
    DELETE FROM charm WHERE kind = 'OPS';
    DELETE FROM secret;
    DELETE FROM unit_event WHERE kind LIKE 'secret-%';
END $$;
-- The events of that are written by the functions as they are.
SET CONSTRAINTS ALL IMMEDIATE;

-- What is changed on the way to still older revisions is told by this function, which must not know the columns then.
DO $$
BEGIN
    EXECUTE regexp_replace(
        pg_get_functiondef('unit_event_shape(unit_event)'::regprocedure), '\me\.secret(_revision)?\M', $none$''::text$none$, 'g'
    );
END $$;

ALTER TABLE unit_event DROP COLUMN secret, DROP COLUMN secret_revision;
DROP TABLE task_line, task, secret_reader, secret_grant, secret_revision, secret CASCADE;
DROP FUNCTION check_task_transition, write_secret_event, write_task_event;
DROP DOMAIN task_state;

ALTER TABLE events DISABLE TRIGGER events_kept;
DELETE FROM events
 WHERE resource_type IN ('SECRET', 'TASK')
    OR resource_type = 'UNIT_EVENT' AND data ->> 'kind' LIKE 'secret-%'
    OR resource_type IN ('CHARM', 'APPLICATION') AND data ->> 'kind' = 'OPS';
ALTER TABLE events ENABLE ALWAYS TRIGGER events_kept;

ALTER DOMAIN charm_kind DROP CONSTRAINT charm_kind_known;
ALTER DOMAIN charm_kind ADD CONSTRAINT charm_kind_known CHECK (VALUE IN ('NATIVE', 'SCRIPTS'));
ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known CHECK (
    VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM')
    OR VALUE IN ('CHART', 'RELEASE', 'OPERATION', 'NODE', 'STEP', 'LIFECYCLE')
    OR VALUE IN ('NAMESPACE', 'CHARM', 'APPLICATION', 'UNIT', 'UNIT_EVENT', 'RELATION', 'STORAGE')
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
    OR VALUE IN ('UNIT_EVENT_STARTED', 'UNIT_EVENT_COMMITTED', 'UNIT_EVENT_FAILED', 'UNIT_EVENT_SKIPPED',
                 'UNIT_EVENT_WITHDRAWN', 'UNIT_EVENT_ABANDONED', 'UNIT_STATUS_CHANGED', 'RELATION_CHANGED')
);
