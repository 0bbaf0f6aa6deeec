-- What happens around each change of workflows and actions, whoever makes it: versions count, states move legally,
-- machines are held, and the change becomes an event.

CREATE TRIGGER workflow_version BEFORE UPDATE ON workflow FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER action_version BEFORE UPDATE ON action FOR EACH ROW EXECUTE FUNCTION count_version();

-- Not as a check of the table, which would read the whole template again with each change of the state.
CREATE TRIGGER workflow_size BEFORE INSERT OR UPDATE OF devices, data ON workflow
    FOR EACH ROW EXECUTE FUNCTION check_workflow_size();

CREATE TRIGGER workflow_transition BEFORE UPDATE OF state ON workflow FOR EACH ROW EXECUTE FUNCTION check_transition();
CREATE TRIGGER action_transition BEFORE UPDATE OF state ON action FOR EACH ROW EXECUTE FUNCTION check_transition();
CREATE TRIGGER action_retry BEFORE UPDATE OF state ON action FOR EACH ROW
    WHEN (OLD.state = 'RUNNING' AND NEW.state = 'PENDING') EXECUTE FUNCTION check_retry();

CREATE TRIGGER workflow_machines AFTER UPDATE OF state, deleted_at ON workflow FOR EACH ROW
    WHEN ((OLD.state = 'RUNNING' AND OLD.deleted_at IS NULL) <> (NEW.state = 'RUNNING' AND NEW.deleted_at IS NULL))
    EXECUTE FUNCTION hold_machines();

CREATE TRIGGER workflow_truncate BEFORE TRUNCATE ON workflow EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER action_truncate BEFORE TRUNCATE ON action EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER workflow_event AFTER INSERT OR UPDATE OR DELETE ON workflow
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_workflow_event();
CREATE CONSTRAINT TRIGGER action_event AFTER INSERT OR UPDATE OR DELETE ON action
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_action_event();
