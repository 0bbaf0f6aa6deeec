-- What happens around each change of a machine, whoever makes it: versions count, addresses stay unique, and the change
-- becomes an event. There are no conditions: PostgreSQL reads those anew for each statement, which costs more than a
-- function that returns at once.

CREATE TRIGGER hardware_version BEFORE UPDATE ON hardware FOR EACH ROW EXECUTE FUNCTION count_version();

CREATE TRIGGER hardware_addresses AFTER INSERT OR UPDATE ON hardware FOR EACH ROW EXECUTE FUNCTION keep_addresses();

CREATE TRIGGER hardware_truncate BEFORE TRUNCATE ON hardware EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER hardware_event AFTER INSERT OR UPDATE OR DELETE ON hardware
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_hardware_event();
