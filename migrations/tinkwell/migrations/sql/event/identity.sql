-- What a row is known by stays what it is, whoever writes: its own id, and that of what it belongs to. An event tells of
-- the new ones only, so that whoever watches the former ones would hear nothing. There is no cost to other changes:
-- PostgreSQL looks at a trigger's columns before its condition.

CREATE TRIGGER hardware_identity BEFORE UPDATE OF id ON hardware FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER template_identity BEFORE UPDATE OF id ON template FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER workflow_identity BEFORE UPDATE OF id ON workflow FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER action_identity BEFORE UPDATE OF id, workflow_id ON action FOR EACH ROW
    WHEN ((OLD.id, OLD.workflow_id) IS DISTINCT FROM (NEW.id, NEW.workflow_id))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER release_identity BEFORE UPDATE OF id ON release FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER release_revision_identity BEFORE UPDATE OF release_id, revision ON release_revision FOR EACH ROW
    WHEN ((OLD.release_id, OLD.revision) IS DISTINCT FROM (NEW.release_id, NEW.revision))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER operation_identity BEFORE UPDATE OF id, release_id ON operation FOR EACH ROW
    WHEN ((OLD.id, OLD.release_id) IS DISTINCT FROM (NEW.id, NEW.release_id)) EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER node_identity BEFORE UPDATE OF id, operation_id, release_id ON node FOR EACH ROW
    WHEN ((OLD.id, OLD.operation_id, OLD.release_id) IS DISTINCT FROM (NEW.id, NEW.operation_id, NEW.release_id))
    EXECUTE FUNCTION refuse_identity();
CREATE TRIGGER step_identity BEFORE UPDATE OF id, node_id, operation_id, release_id ON step FOR EACH ROW
    WHEN ((OLD.id, OLD.node_id, OLD.operation_id, OLD.release_id)
          IS DISTINCT FROM (NEW.id, NEW.node_id, NEW.operation_id, NEW.release_id))
    EXECUTE FUNCTION refuse_identity();
-- The rest of its identity is kept by `check_lifecycle`.
CREATE TRIGGER lifecycle_identity BEFORE UPDATE OF id ON lifecycle FOR EACH ROW
    WHEN (OLD.id IS DISTINCT FROM NEW.id) EXECUTE FUNCTION refuse_identity();
-- A chart never changes, and a change of it is told to nobody: it is known by its digest, and the rest follows from that.
CREATE TRIGGER chart_identity BEFORE UPDATE OF id, digest, name, chart_version, metadata, archive, size ON chart
    FOR EACH ROW
    WHEN ((OLD.id, OLD.digest, OLD.name, OLD.chart_version, OLD.metadata::text, OLD.archive, OLD.size) IS DISTINCT FROM
          (NEW.id, NEW.digest, NEW.name, NEW.chart_version, NEW.metadata::text, NEW.archive, NEW.size))
    EXECUTE FUNCTION refuse_identity();
