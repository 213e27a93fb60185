// Types of Copydesk's additions to LSP and ACP. Generated from the table of methods: do not edit.
// ACP's own types are those of its SDK.

/** One run of lines that the agent changed. */
export interface ChangeHunk {
  /** The same for as long as the hunk is there, however lines move. */
  id: number;
  /** The turn that made it. */
  turn: string;
  state: HunkState;
  /** The lines in the present text; empty where the hunk only removes. */
  range: TextRange;
  /** The lines that they stand for, in the text without the hunk; empty where the hunk only adds. */
  oldRange: TextRange;
  oldText: string;
  newText: string;
}

/** What happened to a file as a whole. */
export type ChangeKind = "created" | "modified" | "deleted" | "moved";

/** One file that changed. */
export interface ChangedFile {
  uri: string;
  kind: ChangedFileKind;
}

/** What happened to the file. */
export type ChangedFileKind = "created" | "changed" | "deleted";

/** Daemon to client: the list of a session's changes is another one. To clients that opted in with `changes`; many changes may be told as one. */
export interface ChangedParams {
  sessionId: string;
}

/** Client to daemon: decide on hunks, then list what the agent changed. Works while the agent does. */
export interface ChangesParams {
  sessionId: string;
  /** Absent: `session`. */
  scope?: ChangesScope;
  /** Hunks that stay. */
  accept?: HunkChoice | null;
  /** Hunks that are taken back; the model is told. What `accept` names too stays. */
  reject?: HunkChoice | null;
}

/** What the agent changed, as it is after the decisions. */
export interface ChangesResult {
  files: FileChanges[];
  /** Lines, over all files. */
  added: number;
  removed: number;
  /** Hunks that were decided by this request. */
  decided?: number[];
  /** Hunks that could not be decided. */
  undecided?: UndecidedHunk[];
}

/** Of which edits. */
export type ChangesScope = "session" | "last_turn" | { turn: string };

/** `capabilities.experimental.copydesk` in a client's `initialize`: without it nothing but standard LSP is ever sent. */
export interface ClientOptIn {
  /** The highest version of the additions that the client knows; absent means 1. */
  protocol?: number | null;
  /** ACP's `ClientCapabilities`. Present: the session methods are spoken on this connection. */
  acp?: unknown;
  /** The client answers `_copydesk/diagnostics`. */
  diagnostics?: boolean;
  /** The client answers `_copydesk/save` and `_copydesk/files_changed`. */
  save?: boolean;
  /** The client answers `_copydesk/language`. */
  language?: boolean;
  /** It answers `_copydesk/language` with `workspace/executeCommand` too, and makes none of the edits that the server asks for meanwhile: they are the result. */
  languageCommands?: boolean;
  /** The client is told by `_copydesk/changed` that there is another list of changes, and lets its user decide on them: what undo reaches is edited without an ask. */
  changes?: boolean;
  /** Whether the user trusts the workspace, where the client has a notion of it; a change is told by `_copydesk/trust_changed`. */
  trust?: WorkspaceTrust | null;
}

/** Daemon to client: the problems of these documents at or after these versions. */
export interface DiagnosticsParams {
  documents: DocumentVersion[];
  /** How long the client may wait for them, in milliseconds; 0: only what it has. */
  waitMs: number;
}

/** The problems, a document each. */
export interface DiagnosticsResult {
  /** In the order of the request. */
  documents: DocumentDiagnostics[];
}

/** Whether the problems of a document are known. */
export type DiagnosticsState = "ready" | "not_ready" | "unavailable";

/** What is compared. */
export type DiffOf = "last_turn" | { turn: string } | "session" | "head";

/** Client to daemon: a diff of the agent's edits, or of the files that it touched. */
export interface DiffParams {
  sessionId: string;
  /** Absent: `last_turn`. */
  of?: DiffOf;
}

/** The diff, as text and in numbers. */
export interface DiffResult {
  /** Unified, one after the other; empty where nothing differs. */
  diff: string;
  files: DiffedFile[];
  /** Ids of the turns of the agent that it is of, the oldest first, for `_copydesk/undo`: of a session those that were not undone. None against HEAD. */
  turns?: string[];
  /** Lines, over all files. */
  added: number;
  removed: number;
}

/** The numbers of one file. */
export interface DiffedFile {
  uri: string;
  kind: ChangeKind;
  /** It is no text, and has no lines to count. */
  binary?: boolean;
  added: number;
  removed: number;
}

/** The problems of one document. */
export interface DocumentDiagnostics {
  /** As the request names it. */
  uri: string;
  /** The version that the problems are of. */
  version?: number | null;
  state: DiagnosticsState;
  /** The servers that did not say of which version they speak: it is the one that they were sent before, once nothing followed for a while. */
  presumed?: string[];
  /** LSP's `Diagnostic`, columns in the negotiated encoding; empty unless ready. */
  diagnostics?: unknown[];
}

/** A document, with the version that is meant where it is open. */
export interface DocumentVersion {
  uri: string;
  version?: number | null;
}

/** The agent's changes of one file. */
export interface FileChanges {
  uri: string;
  kind: ChangeKind;
  /** Where a moved file stood before. */
  from?: string | null;
  /** The version of the open document that the ranges are of; absent: the file on the disk. */
  version?: number | null;
  /** It is no text: its one hunk is the whole file, and has no texts. */
  binary?: boolean;
  added: number;
  removed: number;
  /** From the top of the file down. */
  hunks: ChangeHunk[];
}

/** Daemon to client: these files changed on the disk. Clean buffers are read again before the answer; buffers with unsaved text are left alone. */
export interface FilesChangedParams {
  files: ChangedFile[];
}

/** What became of the open ones among the files; URIs as the client spells them. */
export interface FilesChangedResult {
  /** Clean buffers that were read again. */
  reloaded?: string[];
  /** Buffers with unsaved text, left alone. */
  conflicts?: string[];
}

/** Where a grant holds. */
export type GrantScopeView = "session" | "project" | "user";

/** One grant. */
export interface GrantView {
  /** Opaque. */
  id: string;
  scope: GrantScopeView;
  /** The real path of the project's root, of a grant of a project. */
  project?: string | null;
  /** The agent for which it holds; absent: every agent. */
  agent?: string | null;
  /** As rules name it, e.g. `bash` or `edit`. */
  permission: string;
  /** All that it covers, in words for the user. */
  text: string;
  /** When it was given, in milliseconds since 1970 (UTC); absent of a grant of the session. */
  given?: number | null;
}

/** Client to daemon: what the user has allowed for longer than once, as it holds in a session. */
export interface GrantsParams {
  sessionId: string;
  /** Ids of grants to take back first. */
  revoke?: string[];
}

/** All that hold in the session now. */
export interface GrantsResult {
  /** The session's own first, then those that are kept, in the order in which they were given. */
  grants: GrantView[];
  /** How many of the named ones were taken back; the others were not there. */
  revoked: number;
  /** For the user: why nothing that was kept holds, where that is so. */
  problem?: string | null;
}

/** Which hunks a decision is about. */
export type HunkChoice = "all" | { files: string[] } | { hunks: number[] };

/** How a hunk stands. */
export type HunkState = "undecided" | "accepted" | "rejected" | "outdated";

/** Daemon to client: send this request to a language server of the editor's that looks at the document and knows the method. */
export interface LanguageParams {
  /** An open document, with the version that the request is about. */
  document: DocumentVersion;
  /** LSP's, such as `textDocument/definition` or `callHierarchy/incomingCalls`. `workspace/executeCommand` is sent to a client that said `languageCommands`, for a few commands that do nothing but ask for edits. The client answers each `workspace/applyEdit` that belongs to it as if it were made, and makes none; one that comes after the wait is refused. Where it cannot tell whose an edit is, it makes none and answers `not_ready`. */
  method: string;
  /** As the method has them. `position` and `range` are in the negotiated encoding: the client converts them to the server's. */
  params: unknown;
  /** The server that gave what `params` hold of an earlier answer. */
  server?: string | null;
  /** How long the client may wait for the server, in milliseconds. */
  waitMs: number;
}

/** What the server answered. */
export interface LanguageResult {
  state: LanguageState;
  /** The server's name, for the model and for `server` of the next request. */
  server?: string | null;
  /** Of the positions in `result`: `utf-8`, `utf-16` or `utf-32`; absent means `utf-16`. */
  positionEncoding?: string | null;
  /** The server's result as it came; of one that failed its message; of a command the list of each `WorkspaceEdit` that the server asked for. */
  result?: unknown;
  /** Of the open documents that a `WorkspaceEdit` in `result` names. */
  versions?: DocumentVersion[];
}

/** How the request went. */
export type LanguageState = "ready" | "not_ready" | "failed" | "unavailable";

/** `_meta.copydesk` of the params of `session/load` and `session/resume`. */
export interface LoadMeta {
  /** Take the session from the daemon that has it open, which can no longer write to it. */
  takeOver?: boolean;
}

/** `_meta.copydesk` of the results of `session/load` and `session/resume`. */
export interface LoadedMeta {
  /** Another daemon has the session open: prompts are refused here until it is taken over or free, and loaded again. */
  readOnly?: boolean;
}

/** `outcome._meta.copydesk` of a rejecting answer to `session/request_permission`: what the user wants instead. */
export interface OutcomeMeta {
  message?: string | null;
}

/** Daemon to client: save these documents. */
export interface SaveParams {
  /** As the client spelled them in `textDocument/didOpen`. */
  uris: string[];
}

/** All others have been saved when this is answered. */
export interface SaveResult {
  /** What could not be saved, and why. */
  unsaved?: UnsavedDocument[];
}

/** `capabilities.experimental.copydesk` in the answer. */
export interface ServerOptIn {
  /** The version used from now on. */
  protocol: number;
  /** ACP's `Implementation`. */
  agentInfo: unknown;
  /** ACP's `AgentCapabilities`. */
  agentCapabilities: unknown;
  /** The additions that this daemon answers or sends. */
  methods: string[];
}

/** LSP's `Position`: both from 0. */
export interface TextPosition {
  line: number;
  character: number;
}

/** LSP's `Range`. */
export interface TextRange {
  start: TextPosition;
  end: TextPosition;
}

/** Client to daemon: the user has changed his mind about the workspace. In force from the next turn of each session on. */
export interface TrustChangedParams {
  trust: WorkspaceTrust;
}

/** A hunk that could not be decided. */
export interface UndecidedHunk {
  id: number;
  why: WhyUndecided;
  /** In words for the user. */
  reason: string;
}

/** How the undo of one file ended. */
export type UndoOutcome = "restored" | "removed" | "moved_back" | "unchanged" | "conflict" | "unavailable" | "failed";

/** Client to daemon: take back what the agent did, and leave what the user typed. */
export interface UndoParams {
  sessionId: string;
  /** Absent: `last`. */
  what?: UndoWhat;
}

/** What became of it, a file each. */
export interface UndoResult {
  /** The turn that was taken back, or put back. */
  turn?: string | null;
  /** The first line of the turn's prompt. */
  title: string;
  files: UndoneFile[];
  /** Lines that came and went by this. */
  added: number;
  removed: number;
  /** All of it in words for the user. */
  text: string;
}

/** What is taken back. */
export type UndoWhat = "last" | "redo" | { turn: string } | { call: string };

/** What became of one file. */
export interface UndoneFile {
  /** Where the file stood before the undo, or stands now where there was none. */
  uri: string;
  outcome: UndoOutcome;
  /** Of a file that was moved back: where it stands now. */
  to?: string | null;
  /** Of a conflict: the other hunks of the file were taken back. */
  partly?: boolean;
  /** For the user: what stands in the way, where something does. */
  reason?: string | null;
}

/** A document that could not be saved. */
export interface UnsavedDocument {
  uri: string;
  /** For the model and the user, in a sentence. */
  reason: string;
}

/** Why a hunk could not be decided. */
export type WhyUndecided = "gone" | "outdated" | "conflict";

/** The editor's own word on the workspace. */
export type WorkspaceTrust = "trusted" | "untrusted";

/** What the daemon asks of the client, by the names of the methods. */
export interface DaemonRequests {
  /** The problems of these documents at or after these versions, from the editor's own language servers. */
  "_copydesk/diagnostics": { params: DiagnosticsParams; result: DiagnosticsResult };
  /** A request to one of the editor's own language servers: definitions, references, hover, symbols, call hierarchy, rename, code actions. */
  "_copydesk/language": { params: LanguageParams; result: LanguageResult };
  /** Save these open documents, before a command that reads them from the disk. */
  "_copydesk/save": { params: SaveParams; result: SaveResult };
  /** These files changed on the disk: read clean buffers again, leave unsaved text alone. */
  "_copydesk/files_changed": { params: FilesChangedParams; result: FilesChangedResult };
}

/** What the client asks of the daemon, by the names of the methods. */
export interface ClientRequests {
  /** What the user has allowed for longer than once, as it holds in a session; takes back what is named. */
  "_copydesk/grants": { params: GrantsParams; result: GrantsResult };
  /** Takes back what a turn or a tool call did to files, or puts it back; what the user typed stays. */
  "_copydesk/undo": { params: UndoParams; result: UndoResult };
  /** What the agent changed, hunk by hunk; accepts and rejects what is named first. */
  "_copydesk/changes": { params: ChangesParams; result: ChangesResult };
  /** A turn or the whole session as one patch, or the files that it touched against Git's HEAD. */
  "_copydesk/diff": { params: DiffParams; result: DiffResult };
}

/** What the daemon tells the client, by the names of the methods. */
export interface DaemonNotifications {
  /** The list of a session's changes is another one; ask for it with `_copydesk/changes`. */
  "_copydesk/changed": ChangedParams;
}

/** What the client tells the daemon, by the names of the methods. */
export interface ClientNotifications {
  /** The user trusts the workspace now, or does not any more; in force from the next turn on. */
  "_copydesk/trust_changed": TrustChangedParams;
}
