ALTER TABLE step_log DROP COLUMN is_open;
