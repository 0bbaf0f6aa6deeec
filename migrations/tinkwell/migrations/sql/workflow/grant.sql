-- Workflows are deleted by a mark, and machines are taken by a trigger that runs as the owner.
GRANT SELECT, INSERT, UPDATE ON workflow, action, workflow_data TO :"server_role";
GRANT SELECT, INSERT ON action_status, log_line TO :"server_role";
GRANT SELECT, UPDATE, DELETE ON machine_hold TO :"server_role";
GRANT SELECT ON busy_machine TO :"server_role";
