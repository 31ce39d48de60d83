-- Few calls belong to an execution; the others need no place in its index.
DROP INDEX invocation_by_execution;
CREATE INDEX invocation_by_execution ON tool_invocation (agent_execution_id, invocation_start) WHERE agent_execution_id IS NOT NULL;
