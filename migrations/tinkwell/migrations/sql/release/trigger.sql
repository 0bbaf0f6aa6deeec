-- What happens around each change of a release and of what belongs to it, whoever makes it: versions count, states move
-- legally, and the change becomes an event.

CREATE TRIGGER release_version BEFORE UPDATE ON release FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER release_revision_version BEFORE UPDATE ON release_revision
    FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER operation_version BEFORE UPDATE ON operation FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER node_version BEFORE UPDATE ON node FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER step_version BEFORE UPDATE ON step FOR EACH ROW EXECUTE FUNCTION count_version();

CREATE TRIGGER release_transition BEFORE UPDATE OF state ON release
    FOR EACH ROW EXECUTE FUNCTION check_release_transition();
CREATE TRIGGER release_revision_transition BEFORE UPDATE OF state ON release_revision
    FOR EACH ROW EXECUTE FUNCTION check_release_transition();
CREATE TRIGGER operation_transition BEFORE UPDATE OF state ON operation
    FOR EACH ROW EXECUTE FUNCTION check_release_transition();
CREATE TRIGGER node_transition BEFORE UPDATE OF state ON node
    FOR EACH ROW EXECUTE FUNCTION check_release_transition();
CREATE TRIGGER step_transition BEFORE UPDATE OF state ON step
    FOR EACH ROW EXECUTE FUNCTION check_release_transition();

-- Deferred, since the one that follows is written after it.
CREATE CONSTRAINT TRIGGER release_revision_superseded AFTER UPDATE ON release_revision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (OLD.state <> 'SUPERSEDED' AND NEW.state = 'SUPERSEDED') EXECUTE FUNCTION check_superseded();

CREATE TRIGGER release_truncate BEFORE TRUNCATE ON release EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER operation_truncate BEFORE TRUNCATE ON operation EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER node_truncate BEFORE TRUNCATE ON node EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER step_truncate BEFORE TRUNCATE ON step EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER release_event AFTER INSERT OR UPDATE OR DELETE ON release
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_release_event();
CREATE CONSTRAINT TRIGGER operation_event AFTER INSERT OR UPDATE OR DELETE ON operation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_operation_event();
-- A plan's nodes come without an event each, since the plan is there to be read.
CREATE CONSTRAINT TRIGGER node_event AFTER UPDATE OR DELETE ON node
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_node_event();
CREATE CONSTRAINT TRIGGER step_event AFTER INSERT OR UPDATE OR DELETE ON step
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_step_event();
