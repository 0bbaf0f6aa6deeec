-- As of 0001.
CREATE INDEX hardware_live ON hardware (created_at, id) WHERE deleted_at IS NULL;
