DROP TABLE pruning_turn;
DROP INDEX workflow_ended, workflow_recovers, workflow_template, hardware_deleted, template_deleted;
