-- A conversation as schema version 1 wrote it.
INSERT INTO conversation VALUES (x'550e8400e29b41d4a716446655440000', 'alice', 'todo', 1768559400000000, 1768559401000000, 'active', '{}');
INSERT INTO conversation_message VALUES (x'550e8400e29b41d4a716446655440000', 1, x'550e8400e29b41d4a716446655440001', 'alice', 'user', 'show my tasks', 1768559401000000, NULL, '[]', '{}');
