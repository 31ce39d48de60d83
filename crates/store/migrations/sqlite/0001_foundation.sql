-- Times are microseconds since 1970 in UTC, ids are 16 bytes, structures are JSON text. Every table with a user's data
-- has user_id, and every statement of the store names it.

CREATE TABLE conversation (
    id                 BLOB PRIMARY KEY,
    user_id            TEXT NOT NULL CHECK (user_id <> ''),
    application_domain TEXT NOT NULL,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    status             TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'deleted')),
    metadata           TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX conversation_by_user ON conversation (user_id, created_at DESC);
CREATE INDEX conversation_by_domain ON conversation (application_domain);
CREATE INDEX conversation_by_age ON conversation (status, updated_at);

-- The primary key is the order of reading, so the window is one short walk along the tree.
CREATE TABLE conversation_message (
    conversation_id BLOB NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    sequence_number INTEGER NOT NULL CHECK (sequence_number > 0),
    id              BLOB NOT NULL UNIQUE,
    user_id         TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('user', 'agent', 'system', 'tool')),
    content         TEXT NOT NULL CHECK (content <> ''),
    timestamp       INTEGER NOT NULL,
    agent_type      TEXT CHECK (role <> 'agent' OR agent_type IS NOT NULL),
    tool_calls      TEXT NOT NULL DEFAULT '[]',
    metadata        TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (conversation_id, sequence_number)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_by_time ON conversation_message (conversation_id, timestamp DESC);

CREATE TABLE conversation_entity (
    id                 BLOB PRIMARY KEY,
    conversation_id    BLOB NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
    user_id            TEXT NOT NULL,
    entity_type        TEXT NOT NULL CHECK (entity_type <> ''),
    entity_id          TEXT NOT NULL CHECK (entity_id <> ''),
    entity_name        TEXT,
    name_folded        TEXT NOT NULL DEFAULT '',
    first_mentioned_at INTEGER NOT NULL,
    last_mentioned_at  INTEGER NOT NULL CHECK (last_mentioned_at >= first_mentioned_at),
    mention_count      INTEGER NOT NULL DEFAULT 1 CHECK (mention_count > 0),
    metadata           TEXT NOT NULL DEFAULT '{}',
    UNIQUE (conversation_id, entity_type, entity_id)
) STRICT;
CREATE INDEX entity_by_recency ON conversation_entity (conversation_id, last_mentioned_at DESC);

CREATE TABLE agent_execution (
    id                BLOB PRIMARY KEY,
    conversation_id   BLOB REFERENCES conversation (id) ON DELETE SET NULL,
    user_id           TEXT NOT NULL,
    agent_type        TEXT NOT NULL CHECK (agent_type IN ('orchestrator', 'validation', 'conversation', 'error_recovery')),
    input_data        TEXT NOT NULL,
    output_data       TEXT NOT NULL,
    execution_start   INTEGER NOT NULL,
    execution_end     INTEGER NOT NULL CHECK (execution_end >= execution_start),
    duration_ms       INTEGER NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('success', 'failure', 'partial')),
    error_details     TEXT CHECK (status = 'success' OR error_details IS NOT NULL),
    reasoning_trace   TEXT NOT NULL,
    confidence_scores TEXT NOT NULL,
    tools_invoked     TEXT NOT NULL
) STRICT;
CREATE INDEX execution_by_conversation ON agent_execution (conversation_id, execution_start DESC);
CREATE INDEX execution_by_user ON agent_execution (user_id, execution_start DESC);
CREATE INDEX execution_by_agent ON agent_execution (agent_type, status);
CREATE INDEX execution_by_time ON agent_execution (execution_start DESC);

CREATE TABLE tool_definition (
    id                    BLOB PRIMARY KEY,
    tool_name             TEXT NOT NULL,
    tool_version          TEXT NOT NULL DEFAULT '1.0.0',
    application_domain    TEXT NOT NULL,
    origin                TEXT NOT NULL,
    server                TEXT,
    category              TEXT,
    description           TEXT NOT NULL,
    description_embedding BLOB,
    parameter_schema      TEXT NOT NULL,
    return_schema         TEXT NOT NULL,
    is_active             INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    requires_validation   INTEGER NOT NULL DEFAULT 0 CHECK (requires_validation IN (0, 1)),
    timeout_seconds       INTEGER NOT NULL DEFAULT 300,
    fallback_tools        TEXT NOT NULL DEFAULT '[]',
    approval              TEXT NOT NULL DEFAULT 'never',
    idempotency           TEXT NOT NULL DEFAULT 'none',
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    metadata              TEXT NOT NULL DEFAULT '{}',
    UNIQUE (tool_name, tool_version)
) STRICT;
CREATE INDEX tool_by_domain ON tool_definition (application_domain, is_active);

CREATE TABLE tool_invocation (
    id                 BLOB PRIMARY KEY,
    user_id            TEXT NOT NULL,
    agent_execution_id BLOB REFERENCES agent_execution (id) ON DELETE SET NULL,
    tool_definition_id BLOB NOT NULL REFERENCES tool_definition (id),
    input_parameters   TEXT NOT NULL,
    output_result      TEXT,
    invocation_start   INTEGER NOT NULL,
    invocation_end     INTEGER NOT NULL CHECK (invocation_end >= invocation_start),
    duration_ms        INTEGER NOT NULL,
    status             TEXT NOT NULL CHECK (status IN ('success', 'error', 'timeout', 'resource_limit', 'cancelled', 'unknown')),
    error_details      TEXT CHECK (status = 'success' OR error_details IS NOT NULL),
    retry_count        INTEGER NOT NULL DEFAULT 0 CHECK (retry_count >= 0)
) STRICT;
CREATE INDEX invocation_by_execution ON tool_invocation (agent_execution_id, invocation_start);
CREATE INDEX invocation_by_tool ON tool_invocation (tool_definition_id, status);
CREATE INDEX invocation_by_time ON tool_invocation (invocation_start DESC);

CREATE TABLE recipe (
    recipe_id               BLOB PRIMARY KEY,
    user_id                 TEXT NOT NULL,
    schema_fingerprint      TEXT NOT NULL,
    intent_template         TEXT NOT NULL,
    intent_embedding        BLOB NOT NULL,
    plan_structure          TEXT NOT NULL,
    tool_argument_templates TEXT NOT NULL,
    success_count           INTEGER NOT NULL DEFAULT 1 CHECK (success_count > 0),
    created_at              INTEGER NOT NULL,
    last_used_at            INTEGER NOT NULL
) STRICT;
CREATE INDEX recipe_by_schema ON recipe (schema_fingerprint, user_id);
CREATE INDEX recipe_by_use ON recipe (last_used_at DESC);

-- What the house writes and reads as a whole is one JSON body; the columns beside it are what is asked for.
CREATE TABLE task (
    id         BLOB PRIMARY KEY,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    ended_at   INTEGER,
    body       TEXT NOT NULL
) STRICT;
CREATE INDEX task_by_user ON task (user_id, created_at DESC);
CREATE INDEX task_by_status ON task (status, created_at);
CREATE INDEX task_by_end ON task (ended_at);

CREATE TABLE analysis_request (
    id         BLOB PRIMARY KEY,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL
) STRICT;

CREATE TABLE plan (
    id         BLOB PRIMARY KEY,
    task_id    BLOB NOT NULL,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL
) STRICT;
CREATE INDEX plan_by_task ON plan (task_id, created_at);

CREATE TABLE checkpoint (
    id         BLOB PRIMARY KEY,
    task_id    BLOB NOT NULL,
    user_id    TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    UNIQUE (task_id, sequence)
) STRICT;

CREATE TABLE sub_agent_session (
    id         BLOB PRIMARY KEY,
    task_id    BLOB NOT NULL,
    user_id    TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body       TEXT NOT NULL
) STRICT;
CREATE INDEX session_by_task ON sub_agent_session (task_id, created_at);

CREATE TABLE artifact (
    id          BLOB PRIMARY KEY,
    task_id     BLOB NOT NULL,
    user_id     TEXT NOT NULL,
    content_ref TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    body        TEXT NOT NULL
) STRICT;
CREATE INDEX artifact_by_task ON artifact (task_id, created_at);

-- The journal. request_id names the chain: a task, a conversation, or all zeros for the house itself.
--
-- Entries of many chains are written to the end of one table, so a sync covers few pages. An index by chain would undo
-- that: a hundred tasks would touch a hundred of its pages in every sync. Instead each entry points to the one before it
-- in its chain, the chain points to its last, and every 64th entry is marked; a range is read by walking back from the
-- next mark.
CREATE TABLE chain (
    id         INTEGER PRIMARY KEY,
    request_id BLOB NOT NULL UNIQUE,
    user_id    TEXT NOT NULL,
    entries    INTEGER NOT NULL,
    last_index INTEGER,
    hash       BLOB NOT NULL,
    digest     BLOB NOT NULL
) STRICT;

CREATE TABLE journal_entry (
    log_index       INTEGER PRIMARY KEY,
    chain_id        INTEGER NOT NULL,
    previous_index  INTEGER,
    sequence_number INTEGER NOT NULL,
    entry_id        BLOB NOT NULL,
    timestamp       INTEGER NOT NULL,
    event_type      TEXT NOT NULL,
    event_data      TEXT NOT NULL,
    actor           TEXT NOT NULL,
    parent_hash     BLOB NOT NULL,
    hash            BLOB NOT NULL,
    parent_digest   BLOB NOT NULL,
    digest          BLOB NOT NULL
) STRICT;

CREATE TABLE chain_mark (
    chain_id        INTEGER NOT NULL,
    sequence_number INTEGER NOT NULL,
    log_index       INTEGER NOT NULL,
    PRIMARY KEY (chain_id, sequence_number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER journal_is_append_only_update BEFORE UPDATE ON journal_entry
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER journal_is_append_only_delete BEFORE DELETE ON journal_entry
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

CREATE TABLE payload (
    payload_id BLOB PRIMARY KEY,
    request_id BLOB NOT NULL,
    user_id    TEXT NOT NULL,
    sha256     BLOB NOT NULL,
    salt       BLOB,
    body       TEXT,
    erased_at  INTEGER CHECK ((erased_at IS NULL) = (body IS NOT NULL AND salt IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX payload_by_chain ON payload (request_id);

CREATE TABLE log_head (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    size  INTEGER NOT NULL,
    root  BLOB NOT NULL,
    peaks BLOB NOT NULL,
    note  TEXT NOT NULL,
    vkey  TEXT NOT NULL
) STRICT;

-- Moves with every change of the tools, so that vectors kept in memory know when they are old.
CREATE TABLE tool_stamp (changes INTEGER NOT NULL) STRICT;
INSERT INTO tool_stamp VALUES (0);
CREATE TRIGGER tool_inserted AFTER INSERT ON tool_definition BEGIN UPDATE tool_stamp SET changes = changes + 1; END;
CREATE TRIGGER tool_updated AFTER UPDATE ON tool_definition BEGIN UPDATE tool_stamp SET changes = changes + 1; END;
