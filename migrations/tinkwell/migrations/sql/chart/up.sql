-- The kind of charts, which are told of, and the kind of the places that they have in plans. No list has more than eight
-- members; see `event/table.sql`.
ALTER DOMAIN resource_type DROP CONSTRAINT resource_type_known;
ALTER DOMAIN resource_type ADD CONSTRAINT resource_type_known CHECK (
    VALUE IN ('TEMPLATE', 'HARDWARE', 'WORKFLOW', 'ACTION', 'CUSTOM')
    OR VALUE IN ('CHART', 'RELEASE', 'OPERATION', 'NODE', 'STEP')
);
ALTER DOMAIN node_kind DROP CONSTRAINT node_kind_known;
ALTER DOMAIN node_kind ADD CONSTRAINT node_kind_known CHECK (VALUE IN ('RESOURCE', 'CHART'));
