-- What happens around each change of a template, whoever makes it.

CREATE TRIGGER template_version BEFORE UPDATE ON template FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER template_truncate BEFORE TRUNCATE ON template EXECUTE FUNCTION refuse_truncate();

-- Deferred: the revision is drawn while the transaction commits, so a gap in the log lives as long as one commit.
CREATE CONSTRAINT TRIGGER template_event AFTER INSERT OR UPDATE OR DELETE ON template
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION write_template_event();
