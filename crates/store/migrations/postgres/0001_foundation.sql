-- The same tables as SQLite's, with PostgreSQL's types. Two roles share them: steward_user sees the rows of the user
-- named in steward.user_id, steward_system (retention, verification) sees all. Neither owns a table, row-level security
-- is forced on the owner too, and a session takes its role with SET LOCAL, so a pooled connection carries nothing over.
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE conversation (
    id                 UUID PRIMARY KEY,
    user_id            TEXT NOT NULL CHECK (user_id <> ''),
    application_domain TEXT NOT NULL,
    created_at         TIMESTAMPTZ NOT NULL,
    updated_at         TIMESTAMPTZ NOT NULL,
    status             TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'deleted')),
    metadata           JSONB NOT NULL DEFAULT '{}'
);
CREATE INDEX conversation_by_user ON conversation (user_id, created_at DESC);
CREATE INDEX conversation_by_domain ON conversation (application_domain);
CREATE INDEX conversation_by_age ON conversation (status, updated_at);

-- The primary key is the order of reading, so the window is one short walk along the tree.
CREATE TABLE conversation_message (
    conversation_id UUID NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    sequence_number BIGINT NOT NULL CHECK (sequence_number > 0),
    id              UUID NOT NULL UNIQUE,
    user_id         TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('user', 'agent', 'system', 'tool')),
    content         TEXT NOT NULL CHECK (content <> ''),
    timestamp       TIMESTAMPTZ NOT NULL,
    agent_type      TEXT CHECK (role <> 'agent' OR agent_type IS NOT NULL),
    tool_calls      JSONB NOT NULL DEFAULT '[]',
    metadata        JSONB NOT NULL DEFAULT '{}',
    PRIMARY KEY (conversation_id, sequence_number)
);
CREATE INDEX message_by_time ON conversation_message (conversation_id, timestamp DESC);

CREATE TABLE conversation_entity (
    id                 UUID PRIMARY KEY,
    conversation_id    UUID NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    user_id            TEXT NOT NULL,
    entity_type        TEXT NOT NULL CHECK (entity_type <> ''),
    entity_id          TEXT NOT NULL CHECK (entity_id <> ''),
    entity_name        TEXT,
    name_folded        TEXT NOT NULL DEFAULT '',
    first_mentioned_at TIMESTAMPTZ NOT NULL,
    last_mentioned_at  TIMESTAMPTZ NOT NULL CHECK (last_mentioned_at >= first_mentioned_at),
    mention_count      BIGINT NOT NULL DEFAULT 1 CHECK (mention_count > 0),
    metadata           JSONB NOT NULL DEFAULT '{}',
    UNIQUE (conversation_id, entity_type, entity_id)
);
CREATE INDEX entity_by_recency ON conversation_entity (conversation_id, last_mentioned_at DESC);

CREATE TABLE agent_execution (
    id                UUID PRIMARY KEY,
    conversation_id   UUID REFERENCES conversation (id) ON DELETE SET NULL,
    user_id           TEXT NOT NULL,
    agent_type        TEXT NOT NULL CHECK (agent_type IN ('orchestrator', 'validation', 'conversation', 'error_recovery')),
    input_data        JSONB NOT NULL,
    output_data       JSONB NOT NULL,
    execution_start   TIMESTAMPTZ NOT NULL,
    execution_end     TIMESTAMPTZ NOT NULL CHECK (execution_end >= execution_start),
    duration_ms       BIGINT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('success', 'failure', 'partial')),
    error_details     JSONB CHECK (status = 'success' OR error_details IS NOT NULL),
    reasoning_trace   JSONB NOT NULL,
    confidence_scores JSONB NOT NULL,
    tools_invoked     JSONB NOT NULL
);
CREATE INDEX execution_by_conversation ON agent_execution (conversation_id, execution_start DESC);
CREATE INDEX execution_by_user ON agent_execution (user_id, execution_start DESC);
CREATE INDEX execution_by_agent ON agent_execution (agent_type, status);
CREATE INDEX execution_by_time ON agent_execution (execution_start DESC);

CREATE TABLE tool_definition (
    id                    UUID PRIMARY KEY,
    tool_name             TEXT NOT NULL,
    tool_version          TEXT NOT NULL DEFAULT '1.0.0',
    application_domain    TEXT NOT NULL,
    origin                TEXT NOT NULL,
    server                TEXT,
    category              TEXT,
    description           TEXT NOT NULL,
    description_embedding VECTOR,
    parameter_schema      JSONB NOT NULL,
    return_schema         JSONB NOT NULL,
    is_active             BOOLEAN NOT NULL DEFAULT TRUE,
    requires_validation   BOOLEAN NOT NULL DEFAULT FALSE,
    timeout_seconds       BIGINT NOT NULL DEFAULT 300,
    fallback_tools        JSONB NOT NULL DEFAULT '[]',
    approval              TEXT NOT NULL DEFAULT 'never',
    idempotency           TEXT NOT NULL DEFAULT 'none',
    created_at            TIMESTAMPTZ NOT NULL,
    updated_at            TIMESTAMPTZ NOT NULL,
    metadata              JSONB NOT NULL DEFAULT '{}',
    UNIQUE (tool_name, tool_version)
);
CREATE INDEX tool_by_domain ON tool_definition (application_domain, is_active);

CREATE TABLE tool_invocation (
    id                 UUID PRIMARY KEY,
    user_id            TEXT NOT NULL,
    agent_execution_id UUID REFERENCES agent_execution (id) ON DELETE SET NULL,
    tool_definition_id UUID NOT NULL REFERENCES tool_definition (id),
    input_parameters   JSONB NOT NULL,
    output_result      JSONB,
    invocation_start   TIMESTAMPTZ NOT NULL,
    invocation_end     TIMESTAMPTZ NOT NULL CHECK (invocation_end >= invocation_start),
    duration_ms        BIGINT NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('success', 'error', 'timeout', 'resource_limit', 'cancelled', 'unknown')),
    error_details      JSONB CHECK (status = 'success' OR error_details IS NOT NULL),
    retry_count        BIGINT NOT NULL DEFAULT 0 CHECK (retry_count >= 0)
);
CREATE INDEX invocation_by_execution ON tool_invocation (agent_execution_id, invocation_start);
CREATE INDEX invocation_by_tool ON tool_invocation (tool_definition_id, status);
CREATE INDEX invocation_by_time ON tool_invocation (invocation_start DESC);

CREATE TABLE recipe (
    recipe_id               UUID PRIMARY KEY,
    user_id                 TEXT NOT NULL,
    schema_fingerprint      TEXT NOT NULL,
    intent_template         TEXT NOT NULL,
    intent_embedding        VECTOR NOT NULL,
    plan_structure          JSONB NOT NULL,
    tool_argument_templates JSONB NOT NULL,
    success_count           BIGINT NOT NULL DEFAULT 1 CHECK (success_count > 0),
    created_at              TIMESTAMPTZ NOT NULL,
    last_used_at            TIMESTAMPTZ NOT NULL
);
CREATE INDEX recipe_by_schema ON recipe (schema_fingerprint, user_id);
CREATE INDEX recipe_by_use ON recipe (last_used_at DESC);

-- What the house writes and reads as a whole is one JSON body; the columns beside it are what is asked for.
CREATE TABLE task (
    id         UUID PRIMARY KEY,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ,
    body       TEXT NOT NULL
);
CREATE INDEX task_by_user ON task (user_id, created_at DESC);
CREATE INDEX task_by_status ON task (status, created_at);
CREATE INDEX task_by_end ON task (ended_at);

CREATE TABLE analysis_request (
    id         UUID PRIMARY KEY,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    body       TEXT NOT NULL
);

CREATE TABLE plan (
    id         UUID PRIMARY KEY,
    task_id    UUID NOT NULL,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    body       TEXT NOT NULL
);
CREATE INDEX plan_by_task ON plan (task_id, created_at);

CREATE TABLE checkpoint (
    id         UUID PRIMARY KEY,
    task_id    UUID NOT NULL,
    user_id    TEXT NOT NULL,
    sequence   BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (task_id, sequence)
);

CREATE TABLE sub_agent_session (
    id         UUID PRIMARY KEY,
    task_id    UUID NOT NULL,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    body       TEXT NOT NULL
);
CREATE INDEX session_by_task ON sub_agent_session (task_id, created_at);

CREATE TABLE artifact (
    id          UUID PRIMARY KEY,
    task_id     UUID NOT NULL,
    user_id     TEXT NOT NULL,
    content_ref TEXT NOT NULL,
    created_at  TIMESTAMPTZ NOT NULL,
    body        TEXT NOT NULL
);
CREATE INDEX artifact_by_task ON artifact (task_id, created_at);

-- The journal. request_id is the chain: a task, a conversation, or all zeros for the house itself.
CREATE TABLE chain (
    request_id UUID PRIMARY KEY,
    user_id    TEXT NOT NULL,
    entries    BIGINT NOT NULL,
    hash       BYTEA NOT NULL,
    digest     BYTEA NOT NULL
);

CREATE TABLE journal_entry (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    log_index       BIGINT UNIQUE,
    request_id      UUID NOT NULL,
    sequence_number BIGINT NOT NULL,
    entry_id        UUID NOT NULL,
    user_id         TEXT NOT NULL,
    timestamp       TIMESTAMPTZ NOT NULL,
    event_type      TEXT NOT NULL,
    event_data      TEXT NOT NULL,
    actor           TEXT NOT NULL,
    parent_hash     BYTEA NOT NULL,
    hash            BYTEA NOT NULL,
    parent_digest   BYTEA NOT NULL,
    digest          BYTEA NOT NULL,
    UNIQUE (request_id, sequence_number)
);

CREATE TABLE payload (
    payload_id UUID PRIMARY KEY,
    request_id UUID NOT NULL,
    user_id    TEXT NOT NULL,
    sha256     BYTEA NOT NULL,
    salt       BYTEA,
    body       TEXT,
    erased_at  TIMESTAMPTZ CHECK ((erased_at IS NULL) = (body IS NOT NULL AND salt IS NOT NULL))
);
CREATE INDEX payload_by_chain ON payload (request_id);

CREATE TABLE log_head (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    size  BIGINT NOT NULL,
    root  BYTEA NOT NULL,
    peaks BYTEA NOT NULL,
    note  TEXT NOT NULL,
    vkey  TEXT NOT NULL
);

-- Entries wait here until the log takes them in.
CREATE INDEX journal_waiting ON journal_entry (id) WHERE log_index IS NULL;

DO $roles$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'steward_user') THEN
        CREATE ROLE steward_user NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'steward_system') THEN
        CREATE ROLE steward_system NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL; -- another database of this cluster was made at the same moment
END
$roles$;
GRANT steward_user, steward_system TO CURRENT_USER;
DO $schema$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO steward_user, steward_system', current_schema()); END $schema$;

GRANT SELECT, INSERT, UPDATE, DELETE ON
    conversation, conversation_message, conversation_entity, agent_execution, tool_invocation, recipe, task, analysis_request, plan,
    checkpoint, sub_agent_session, artifact, chain, payload
TO steward_user, steward_system;
GRANT SELECT ON tool_definition, log_head TO steward_user;
GRANT SELECT, INSERT, UPDATE ON tool_definition, log_head TO steward_system;
-- Append-only: nobody may change or delete an entry; the log alone may give it its place.
GRANT SELECT, INSERT ON journal_entry TO steward_user, steward_system;
GRANT UPDATE (log_index) ON journal_entry TO steward_system;

DO $rls$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'conversation', 'conversation_message', 'conversation_entity', 'agent_execution', 'tool_invocation', 'recipe', 'task',
        'analysis_request', 'plan', 'checkpoint', 'sub_agent_session', 'artifact', 'chain', 'journal_entry', 'payload'
    ] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY own ON %I TO steward_user USING (user_id = current_setting(''steward.user_id''))', name);
        EXECUTE format('CREATE POLICY house ON %I TO steward_system USING (TRUE)', name);
    END LOOP;
END
$rls$;
