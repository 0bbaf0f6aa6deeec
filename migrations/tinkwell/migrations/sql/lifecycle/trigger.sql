-- What happens around each change of what was emitted, whoever makes it.

CREATE TRIGGER lifecycle_version BEFORE UPDATE ON lifecycle FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER lifecycle_legal BEFORE INSERT OR UPDATE ON lifecycle FOR EACH ROW EXECUTE FUNCTION check_lifecycle();
CREATE TRIGGER lifecycle_truncate BEFORE TRUNCATE ON lifecycle EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit. What
-- goes with its operation is not told by itself.
CREATE CONSTRAINT TRIGGER lifecycle_event AFTER INSERT OR UPDATE ON lifecycle
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_lifecycle_event();
