//! LSP's own methods: the life cycle, and the documents that the editor keeps in step. Every notification is done at the first poll of its handler.

use std::sync::Arc;

use copydesk_engine::overlay::Overlay;
use copydesk_protocol::additions::{PROTOCOL, ServerOptIn};
use copydesk_protocol::methods;
use copydesk_workspace::disk::Disk;
use copydesk_workspace::document::{ContentChange, Document};
use copydesk_workspace::encoding::decode;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::DocKey;
use copydesk_workspace::uri::path_from_uri;
use ropey::Rope;
use serde_json::json;
use tower_lsp_server::LanguageServer;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::{
    CodeActionParams, CodeActionProviderCapability, CodeActionResponse, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandOptions, ExecuteCommandParams,
    InitializeParams, InitializeResult, InitializedParams, LSPAny, OneOf, PositionEncodingKind, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, WorkspaceFolder, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use super::client_state::ClientState;
use super::plain::{COMMANDS, PlainUser};
use super::wire;
use crate::process;
use copydesk_workspace::position::PositionEncoding;

pub(super) struct DocumentServer {
    state: Arc<ClientState>,
    overlay: Arc<Overlay>,
    disk: Arc<dyn Disk>,
    plain: Arc<PlainUser>,
}

impl DocumentServer {
    pub(super) fn new(
        state: Arc<ClientState>,
        overlay: Arc<Overlay>,
        disk: Arc<dyn Disk>,
        plain: Arc<PlainUser>,
    ) -> Self {
        Self { state, overlay, disk, plain }
    }

    /// Commands and code actions are those of plain clients; others have methods for it.
    fn plain(&self) -> Result<&PlainUser> {
        if self.state.speaks_acp() { Err(Error::method_not_found()) } else { Ok(&self.plain) }
    }

    fn pull_settings(&self) {
        if !self.state.client().is_some_and(|client| client.answers_configuration) {
            return;
        }
        let state = self.state.clone();
        let asked = state.ask_for_settings();
        tokio::spawn(async move {
            let items = json!({ "items": [{ "section": "copydesk" }] });
            match state.peer().request("workspace/configuration", items).await {
                Ok(mut answer) => {
                    state.keep_settings(answer.get_mut(0).map(serde_json::Value::take).unwrap_or_default())
                }
                Err(error) => tracing::debug!(%error, "the client gave no settings"),
            }
            drop(asked);
        });
    }

    /// Opening is the one moment at which the names of links are resolved: later messages find the document by its URI. It costs a few system calls.
    fn document(&self, uri: String, language: String, version: i32, text: &str) -> Option<Document> {
        let path = match path_from_uri(&uri) {
            Ok(path) => path,
            Err(error) => {
                tracing::debug!(%error, "a document that is no file is not followed");
                return None;
            }
        };
        let key = DocKey::from_real_path(self.disk.real_path(&path).unwrap_or_else(|_| path.clone()));
        let text = Rope::from_str(text);
        let opened = ContentHash::of_rope(&text);
        // An editor may open with text that was never saved (a restored session): what the file holds tells.
        let saved = match self.disk.read(&path) {
            Ok(bytes) => decode(&bytes).map_or(opened, |(on_disk, _)| ContentHash::of(on_disk.as_bytes())),
            Err(_) => ContentHash::of(b""),
        };
        Some(Document { uri, key, path, language, version, text, saved })
    }
}

impl LanguageServer for DocumentServer {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let client = self.state.initialize(&params);
        if let Some(process) = client.process {
            process::end_with(process, self.state.peer().clone());
        }
        if let Some(folders) = params.workspace_folders.clone().or_else(|| root_folder(&params)) {
            self.state.change_folders(&folders, &[]);
        }
        let experimental = client.opt_in.as_ref().map(|_| {
            let agent = crate::agent_description::describe();
            json!({ "copydesk": ServerOptIn {
                protocol: PROTOCOL,
                agent_info: agent.info,
                agent_capabilities: agent.capabilities,
                methods: methods::additions().map(str::to_owned).collect(),
            }})
        });
        let is_plain = !self.state.speaks_acp();
        if let Some(options) = params.initialization_options {
            self.state.keep_settings(options);
        }
        Ok(InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(encoding_kind(client.encoding)),
                text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::INCREMENTAL),
                    save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
                    ..TextDocumentSyncOptions::default()
                })),
                workspace: Some(WorkspaceServerCapabilities {
                    workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                        supported: Some(true),
                        change_notifications: Some(OneOf::Left(true)),
                    }),
                    ..WorkspaceServerCapabilities::default()
                }),
                code_action_provider: is_plain.then_some(CodeActionProviderCapability::Simple(true)),
                execute_command_provider: is_plain.then(|| ExecuteCommandOptions {
                    commands: COMMANDS.map(str::to_owned).to_vec(),
                    ..ExecuteCommandOptions::default()
                }),
                experimental,
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "copydesk".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
            ..InitializeResult::default()
        })
    }

    async fn initialized(&self, _: InitializedParams) {
        self.pull_settings();
    }

    async fn shutdown(&self) -> Result<()> {
        self.state.shut_down();
        Ok(())
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        self.plain()?.execute(&params.command, &params.arguments)?;
        Ok(None)
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        Ok(Some(self.plain()?.actions(&params).await))
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let uri = document.uri.to_string();
        if let Some(document) = self.document(uri, document.language_id, document.version, &document.text) {
            self.overlay.open(document);
        }
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let changes: Vec<_> = params
            .content_changes
            .into_iter()
            .map(|change| ContentChange {
                range: change.range.map(|range| (wire::position(range.start), wire::position(range.end))),
                text: change.text,
            })
            .collect();
        let uri = params.text_document.uri.to_string();
        // Helix tells of changes to files that it never opened: they are none of ours.
        if let Err(error) = self.overlay.change(&uri, params.text_document.version, &changes, self.state.encoding()) {
            tracing::warn!(%error, "a change was not taken");
        }
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        if let Err(error) = self.overlay.saved(params.text_document.uri.as_str()) {
            tracing::debug!(%error, "a save was not taken");
        }
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.overlay.close(params.text_document.uri.as_str());
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.state.change_folders(&params.event.added, &params.event.removed);
    }

    /// In force from the next session on. Clients that answer for their settings send nothing of use with the notification.
    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        if self.state.client().is_some_and(|client| client.answers_configuration) {
            self.pull_settings();
        } else {
            self.state.keep_settings(params.settings);
        }
    }
}

/// Of clients that know no workspace folders.
fn root_folder(params: &InitializeParams) -> Option<Vec<WorkspaceFolder>> {
    #[expect(deprecated, reason = "older clients send nothing else")]
    let uri = params.root_uri.clone()?;
    Some(vec![WorkspaceFolder { uri, name: String::new() }])
}

fn encoding_kind(encoding: PositionEncoding) -> PositionEncodingKind {
    match encoding {
        PositionEncoding::Utf8 => PositionEncodingKind::UTF8,
        PositionEncoding::Utf16 => PositionEncodingKind::UTF16,
        PositionEncoding::Utf32 => PositionEncodingKind::UTF32,
    }
}
