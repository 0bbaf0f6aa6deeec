DROP TRIGGER workflow_machines ON workflow;
DROP FUNCTION hold_machines;
DROP TABLE machine_hold, self_enrolment;
