-- What happens around each change of a chart, whoever makes it.

CREATE TRIGGER chart_version BEFORE UPDATE ON chart FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER chart_truncate BEFORE TRUNCATE ON chart EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit. That a
-- chart is used again is not told.
CREATE CONSTRAINT TRIGGER chart_event AFTER INSERT OR DELETE ON chart
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_chart_event();
