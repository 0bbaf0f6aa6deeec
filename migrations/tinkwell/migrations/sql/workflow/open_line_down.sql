ALTER TABLE log_line DROP COLUMN is_open;
