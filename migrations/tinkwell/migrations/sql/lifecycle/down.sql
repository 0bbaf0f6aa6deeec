-- Removes what was emitted, the operations that only looked, the releases that have hooks or handlers in a plan, and their
-- events, which no reader of the former release could pass. Readers take the revisions of those for rolled back.

DELETE FROM release r
 WHERE r.state = 'PLANNED'
    OR EXISTS (SELECT FROM node n WHERE n.release_id = r.id AND n.kind IN ('HOOK', 'EVENT'))
    OR EXISTS (SELECT FROM operation o WHERE o.id = r.operation_id AND o.kind IN ('TEST', 'PLAN'));
DELETE FROM operation WHERE kind IN ('TEST', 'PLAN');
-- The events of that are written by the functions as they are.
SET CONSTRAINTS ALL IMMEDIATE;

-- What is changed on the way to still older revisions is told by these functions, which must not know the columns then.
DO $$
DECLARE
    one regprocedure;
BEGIN
    FOREACH one IN ARRAY
        ARRAY['release_shape(release)', 'operation_shape(operation)', 'write_release_event()']::regprocedure[]
    LOOP
        EXECUTE regexp_replace(
            regexp_replace(pg_get_functiondef(one), '\m(r|NEW|OLD)\.drift\M', $none$''$none$, 'g'),
            '\mo\.plan_of\M', 'NULL::text', 'g'
        );
    END LOOP;
END $$;

ALTER TABLE release DROP COLUMN drift;
ALTER TABLE operation DROP COLUMN result, DROP COLUMN plan_of;
DROP FUNCTION check_lifecycle, write_lifecycle_event, lifecycle_shape CASCADE;
DROP TABLE lifecycle;

DELETE FROM events
 WHERE resource_type = 'LIFECYCLE' OR event_type = 'RELEASE_DRIFTED'
    OR resource_type = 'RELEASE' AND data ->> 'state' = 'PLANNED'
    OR resource_type = 'OPERATION' AND data ->> 'kind' IN ('TEST', 'PLAN')
    OR resource_type = 'NODE' AND data ->> 'kind' IN ('HOOK', 'EVENT');
DROP INDEX release_planned;

ALTER DOMAIN release_state DROP CONSTRAINT release_state_known;
ALTER DOMAIN release_state ADD CONSTRAINT release_state_known CHECK (
    VALUE IN ('PENDING_INSTALL', 'PENDING_UPGRADE', 'PENDING_ROLLBACK', 'DEPLOYED', 'FAILED', 'UNINSTALLING',
              'UNINSTALLED')
);
ALTER DOMAIN operation_kind DROP CONSTRAINT operation_kind_known;
ALTER DOMAIN operation_kind ADD CONSTRAINT operation_kind_known
    CHECK (VALUE IN ('INSTALL', 'UPGRADE', 'ROLLBACK', 'UNINSTALL'));
ALTER DOMAIN node_kind DROP CONSTRAINT node_kind_known;
ALTER DOMAIN node_kind ADD CONSTRAINT node_kind_known CHECK (VALUE IN ('RESOURCE', 'CHART'));
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
);
ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known CHECK (
    VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM')
    OR VALUE IN ('CHART', 'RELEASE', 'OPERATION', 'NODE', 'STEP')
);
