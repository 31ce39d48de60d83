-- Each index is a page or two to write with every call. No query read by tool; few calls belong to an execution.
DROP INDEX invocation_by_tool;
DROP INDEX invocation_by_execution;
CREATE INDEX invocation_by_execution ON tool_invocation (agent_execution_id, invocation_start) WHERE agent_execution_id IS NOT NULL;
-- New times come last, and an index that grows at its end is written to full pages.
DROP INDEX invocation_by_time;
CREATE INDEX invocation_by_time ON tool_invocation (invocation_start);
