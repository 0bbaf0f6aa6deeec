"""The view of a unit's tasks that its next event depends on, as a part of one statement."""

# The oldest waiting task, and the running one.
TASKS = """
    (SELECT CAST(p.id AS text) FROM task p WHERE p.unit_id = u.id AND p.state = 'PENDING'
      ORDER BY p.number LIMIT 1) AS waiting_task,
    (SELECT CAST(p.id AS text) FROM task p WHERE p.unit_id = u.id AND p.state = 'RUNNING') AS running_task
"""
