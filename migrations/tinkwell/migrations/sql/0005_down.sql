DROP TRIGGER action_retry ON action;
DROP FUNCTION check_retry;

ALTER TABLE workflow DROP on_timeout, DROP on_failure, DROP recovers;
ALTER TABLE action DROP retries, DROP retry_delay_seconds, DROP retry_at, DROP reboots;
