-- Workflows are deleted by a mark first, and for good when they are past their time, with all that belongs to them.
-- Machines are taken by a trigger that runs as the owner.
GRANT SELECT, INSERT, UPDATE, DELETE ON workflow, action, workflow_data TO :"server_role";
GRANT SELECT, INSERT, DELETE ON action_status, log_line TO :"server_role";
GRANT UPDATE (stream, line, is_open, created_at) ON log_line TO :"server_role";
GRANT SELECT, UPDATE, DELETE ON machine_hold TO :"server_role";
GRANT SELECT ON busy_machine TO :"server_role";
GRANT SELECT, INSERT, UPDATE ON pruning_turn TO :"server_role";
