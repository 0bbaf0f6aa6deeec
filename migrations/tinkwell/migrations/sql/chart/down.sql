-- Removes charts, the releases that are made of them, and their events, which no reader of the former release could pass.
-- Readers take the revisions of those for rolled back.

DELETE FROM release r
 WHERE EXISTS (SELECT FROM release_revision v WHERE v.release_id = r.id AND v.chart_id IS NOT NULL)
    OR EXISTS (SELECT FROM operation o WHERE o.release_id = r.id AND o.chart_id IS NOT NULL);
-- The events of that are written by the functions as they are.
SET CONSTRAINTS ALL IMMEDIATE;

ALTER TABLE release DROP COLUMN chart_name, DROP COLUMN chart_version;
ALTER TABLE operation DROP COLUMN chart_id;
ALTER TABLE release_revision DROP COLUMN chart_id;
DROP FUNCTION write_chart_event, chart_shape CASCADE;
DROP TABLE chart;
DROP DOMAIN chart_archive, chart_metadata;

DELETE FROM events WHERE resource_type = 'CHART';

ALTER DOMAIN node_kind DROP CONSTRAINT node_kind_known;
ALTER DOMAIN node_kind ADD CONSTRAINT node_kind_known CHECK (VALUE IN ('RESOURCE'));
ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known CHECK (
    VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM')
    OR VALUE IN ('RELEASE', 'OPERATION', 'NODE', 'STEP')
);
