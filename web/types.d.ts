// The shapes of the HTTP interface, for the type checker only. Names are those of the JSON.
type Cell = string | number | boolean | null;
interface Me {
  user: string;
  name: string;
  roles: string[];
  administrator: boolean;
  signed_in_with: string;
  csrf: string;
  version: string;
  may: Partial<Record<'ask' | 'tools' | 'run' | 'approve' | 'audit' | 'verify' | 'admin', boolean>>;
}
interface ProblemDocument {
  type?: string;
  title?: string;
  status?: number;
  code?: string;
  detail?: string;
  request_id?: string;
  retry_after?: number;
}
interface Page<T> {
  items: T[];
  next: string | null;
}
interface Conversation {
  id: string;
  title: string;
  application_domain?: string;
  status: string;
  created_at: string;
  updated_at: string;
}
interface Message {
  id: string;
  role: 'user' | 'agent';
  content: string;
  sequence_number: number;
  timestamp: string;
  task_id: string | null;
  outcome: string | null;
  files?: Upload[];
}
interface Option {
  label: string;
  say: string;
  record?: { domain?: string; entity_type: string; id: string; name: string | null };
}
interface ReplyTable {
  source: string;
  call_id: string;
  noun?: string;
  columns: string[];
  rows: Cell[][];
  cut?: boolean;
}
interface ReplyStep {
  what: string;
  tool?: string;
  well: boolean;
  milliseconds: number;
  calls?: string[];
}
interface Missing {
  part: string;
  reason: string;
  next: string;
  code?: string;
}
interface AnalysisTable {
  name: string;
  title: string;
  columns: string[];
  rows: Cell[][];
  truncated?: boolean;
}
interface AnalysisChart {
  title: string;
  kind: string;
  input: string;
  vega_lite: any;
}
interface Evidence {
  text: string;
  call_id: string;
  table: string;
  column: string;
  rows: number[];
  operation: string;
}
interface Sql {
  title: string;
  sql: string;
  call_id: string;
}
interface Artifact {
  artifact_id: string;
  artifact_type: string;
  content_ref: string;
  content_hash: string;
  size_bytes: number;
  metadata?: any;
  created_at?: string;
}
interface Analysis {
  request_id: string;
  status: string;
  answer: string;
  confidence: string;
  clarification?: any;
  sources: { name: string; tables: string[]; location: string }[];
  suggestions: string[];
  planner: string;
  sql: Sql[];
  tables: AnalysisTable[];
  charts: AnalysisChart[];
  evidence: Evidence[];
  reasoning: string[];
  assumptions: string[];
  summary: { key_findings: string[]; warnings: string[] };
  artifacts: Artifact[];
  verified?: { id: string; question: string; by: string; at: string; note?: string } | null;
}
interface Reply {
  model?: {
    name: string;
    run: string;
    rounds: number;
    tokens: number;
    cost_micros: number;
    unverified?: string[];
    strategy?: 'plan_first' | 'step_by_step';
    why_not_planned?: string;
  };
  conversation_id: string;
  task_id: string;
  outcome: string;
  answer: string;
  sources: string[];
  confidence: string;
  suggestions: string[];
  total_execution_time_ms: number;
  partial_results: boolean;
  question?: { text: string; options: Option[] };
  tables?: ReplyTable[];
  steps: ReplyStep[];
  missing?: Missing[];
  conflicts?: string[];
  reasons: string[];
  decisions?: string[];
  waiting?: string[];
  carried?: ('data' | 'question')[];
  analyses?: Analysis[];
}
interface UploadColumn {
  name: string;
  label?: string;
  type: string;
  nulls?: number;
  seen?: number;
  distinct?: number;
  min?: Cell;
  max?: Cell;
  frequent?: { value: string; count: number }[];
  looks_like?: string | null;
}
interface UploadTable {
  name: string;
  rows: number | null;
  rows_estimated?: boolean;
  columns: UploadColumn[];
  preview?: Cell[][];
}
interface Upload {
  id: string;
  name: string;
  bytes: number;
  tables: UploadTable[];
  questions?: string[];
  /** The file was deleted; only its name is known. */
  gone?: boolean;
}
interface Task {
  id: string;
  user_id: string;
  description: string;
  status: string;
  assigned_agent: string | null;
  result: any;
  error: any;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  parent_task_id: string | null;
  is_rejected?: boolean;
}
interface TraceStep {
  step_name: string;
  agent: string;
  status: string;
  timestamp: string;
  duration_ms: number;
  message: string;
}
interface GraphNode {
  name: string;
  kind: string;
  status?: string;
}
interface GraphEdge {
  from: string | null;
  to: string | null;
  label?: string | null;
}
interface Graph {
  title?: string;
  nodes: GraphNode[];
  edges: GraphEdge[];
}
interface Approval {
  task: string;
  user: string;
  tool: string;
  tools: string[];
  arguments: any;
  provenance: Record<string, string>;
  reason: string;
  digest: string;
  since: string;
  until: string | null;
  is_run: boolean;
}
/** What a person should hear of. */
interface Notices {
  waiting: { task: string; user: string; tool: string; description: string; since: string }[];
  decided: {
    task: string;
    user: string;
    description: string;
    decision: string;
    by: string;
    at: string;
    status: string;
    outcome?: string;
  }[];
}
interface Usage {
  calls: number;
  success_rate: number;
  mean_ms: number;
  p95_ms: number;
}
interface Tool {
  name: string;
  description: string;
  domain: string;
  server: string | null;
  read_only: boolean;
  approval: string;
  input_schema: any;
  off?: string | null;
  usage?: Usage;
  score?: number;
}
interface Entry {
  entry_id: string;
  request_id: string;
  sequence_number: number;
  parent_hash: string;
  timestamp: string;
  event_type: string;
  event_data: any;
  actor: string;
  hash: string;
  parent_digest: string;
  digest: string;
}
interface Proof {
  entry: Entry;
  digest: string;
  index: number;
  size: number;
  inclusion: string[];
  head: string;
  key: string;
}

/** What the tiles of a board are filtered by. */
interface BoardFilter {
  column: string;
  values: string[];
  from: string | null;
  until: string | null;
}
interface FilterChoices extends BoardFilter {
  kind: 'text' | 'boolean' | 'number' | 'date' | null;
  options: string[];
  range: [string, string] | null;
}
interface BoardTile {
  id: string;
  title: string;
  width: 'small' | 'medium' | 'wide';
  content: {
    text?: string;
    answer?: {
      question: string;
      data: string[];
      statement: { sql?: string; reading?: unknown };
      view: string;
      origin: string | null;
    };
  };
}
interface BoardLink {
  id: string;
  viewer: string;
  filters: BoardFilter[];
  created_at: string;
  expires_at: string;
}
interface Board {
  id: string;
  user_id: string;
  name: string;
  is_shared: boolean;
  tiles: BoardTile[];
  filters: BoardFilter[];
  links: BoardLink[];
  fresh_seconds: number;
  created_at: string;
  updated_at: string;
}
interface TileRows {
  id: string;
  title: string;
  width: 'small' | 'medium' | 'wide';
  status: 'ready' | 'refused' | 'failed';
  error: string | null;
  error_code: string | null;
  text: string | null;
  question: string | null;
  view: 'number' | 'chart' | 'table';
  number: string | null;
  columns: { name: string; kind: string }[];
  rows: Cell[][];
  truncated: boolean;
  vega_lite: any;
  sql: string | null;
  sources: { name: string; tables: string[] }[];
  definition: string | null;
  filtered_by: string[];
  not_filtered_by: string[];
  milliseconds: number;
}
interface BoardView {
  board: Board;
  as_of: string;
  fresh_until: string;
  cached: boolean;
  filters: FilterChoices[];
  tiles: TileRows[];
}
