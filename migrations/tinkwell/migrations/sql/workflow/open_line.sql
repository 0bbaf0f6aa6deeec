-- An open line comes again by the same number and is replaced by that. Lines that are there are complete.
ALTER TABLE log_line ADD COLUMN is_open boolean NOT NULL DEFAULT false;
