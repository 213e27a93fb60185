//! Questions about code in LSP's words, and the answers in the engine's. Whoever speaks with the server is a `Caller`: a server of the daemon's own, or the
//! editor for one of its.

mod answer;
mod command;

use std::ops::Range;

use copydesk_engine::ports::{
    BoxFuture, LanguageAbout, LanguageAnswer, LanguageError, LanguageFound, LanguageQuestion,
};
use copydesk_workspace::position::{PositionEncoding, position_of};
use copydesk_workspace::uri::uri_from_path;
use serde_json::{Value, json};

/// Items of a call hierarchy that are followed: there is one, but for overloads.
const MOST_ITEMS: usize = 5;

/// Sends requests to one server that knows the text of the question.
pub trait Caller: Send + Sync {
    /// The server's name.
    fn name(&self) -> &str;

    /// In which the positions of `call` are sent.
    fn encoding(&self) -> PositionEncoding;

    fn call<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Called, LanguageError>>;

    /// Whether `edits_of` does anything.
    fn runs_commands(&self) -> bool {
        false
    }

    /// Runs a command of the server, given as `ExecuteCommandParams`: the list of all edits that it wants to be made of it. None of them is made.
    fn edits_of(&self, _command: Value) -> BoxFuture<'_, Result<Called, LanguageError>> {
        let by = self.name().to_owned();
        Box::pin(async { Err(LanguageError::Unsupported { by }) })
    }
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Called {
    pub result: Value,
    /// Of its positions.
    pub encoding: PositionEncoding,
}

/// The first request that a question needs: a server must know it.
pub fn method(about: &LanguageAbout) -> &'static str {
    match about {
        LanguageAbout::Definition(_) => "textDocument/definition",
        LanguageAbout::References(_) => "textDocument/references",
        LanguageAbout::Implementation(_) => "textDocument/implementation",
        LanguageAbout::Hover(_) => "textDocument/hover",
        LanguageAbout::DocumentSymbols => "textDocument/documentSymbol",
        LanguageAbout::WorkspaceSymbols(_) => "workspace/symbol",
        LanguageAbout::CallHierarchy(_) | LanguageAbout::IncomingCalls(_) | LanguageAbout::OutgoingCalls(_) => {
            "textDocument/prepareCallHierarchy"
        }
        LanguageAbout::Rename { .. } => "textDocument/rename",
        LanguageAbout::CodeActions(_) | LanguageAbout::CodeAction { .. } => "textDocument/codeAction",
    }
}

/// The key of a server's capabilities that offers a method.
pub(super) fn capability(method: &str) -> &'static str {
    match method {
        "textDocument/definition" => "definitionProvider",
        "textDocument/references" => "referencesProvider",
        "textDocument/implementation" => "implementationProvider",
        "textDocument/hover" => "hoverProvider",
        "textDocument/documentSymbol" => "documentSymbolProvider",
        "workspace/symbol" => "workspaceSymbolProvider",
        "textDocument/prepareCallHierarchy" => "callHierarchyProvider",
        "textDocument/rename" => "renameProvider",
        _ => "codeActionProvider",
    }
}

/// What a client of ours can do with the answers, for `initialize`.
pub(super) fn client_capabilities(capabilities: &mut Value) {
    let document = &mut capabilities["textDocument"];
    document["definition"] = json!({ "linkSupport": true });
    document["implementation"] = json!({ "linkSupport": true });
    document["references"] = json!({});
    document["hover"] = json!({ "contentFormat": ["markdown", "plaintext"] });
    document["documentSymbol"] = json!({ "hierarchicalDocumentSymbolSupport": true });
    document["callHierarchy"] = json!({});
    document["rename"] = json!({});
    document["codeAction"] = json!({
        "isPreferredSupport": true,
        "disabledSupport": true,
        "dataSupport": true,
        "resolveSupport": { "properties": ["edit"] },
        "codeActionLiteralSupport": {
            "codeActionKind": { "valueSet": ["", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"] },
        },
    });
    capabilities["workspace"]["symbol"] = json!({});
    capabilities["workspace"]["applyEdit"] = true.into();
    capabilities["workspace"]["executeCommand"] = json!({});
    capabilities["workspace"]["workspaceEdit"] = json!({
        "documentChanges": true,
        "resourceOperations": ["create", "rename", "delete"],
        "failureHandling": "abort",
    });
}

/// `problems`: LSP's diagnostics of the file, for code actions.
pub async fn ask(
    question: &LanguageQuestion,
    problems: Vec<Value>,
    caller: &dyn Caller,
) -> Result<LanguageAnswer, LanguageError> {
    let asked = Asked { question, caller };
    let first = method(&question.about);
    let (encoding, found) = match &question.about {
        LanguageAbout::Definition(at) | LanguageAbout::Implementation(at) => {
            let Called { result, encoding } = asked.at(first, *at, json!({})).await?;
            (encoding, LanguageFound::Places(answer::places(&result)))
        }
        LanguageAbout::References(at) => {
            let extra = json!({ "context": { "includeDeclaration": true } });
            let Called { result, encoding } = asked.at(first, *at, extra).await?;
            (encoding, LanguageFound::Places(answer::places(&result)))
        }
        LanguageAbout::Hover(at) => {
            let Called { result, encoding } = asked.at(first, *at, json!({})).await?;
            (encoding, LanguageFound::Text(answer::hover(&result["contents"])))
        }
        LanguageAbout::DocumentSymbols => {
            let Called { result, encoding } = caller.call(first, json!({ "textDocument": asked.document() })).await?;
            (encoding, LanguageFound::Symbols(answer::document_symbols(&result, &question.file.path)))
        }
        LanguageAbout::WorkspaceSymbols(query) => {
            let Called { result, encoding } = caller.call(first, json!({ "query": query })).await?;
            (encoding, LanguageFound::Symbols(answer::workspace_symbols(&result)))
        }
        LanguageAbout::CallHierarchy(at) => {
            let Called { result, encoding } = asked.at(first, *at, json!({})).await?;
            (encoding, LanguageFound::Symbols(answer::items(&result)))
        }
        LanguageAbout::IncomingCalls(at) => asked.calls(*at, "callHierarchy/incomingCalls", "from").await?,
        LanguageAbout::OutgoingCalls(at) => asked.calls(*at, "callHierarchy/outgoingCalls", "to").await?,
        LanguageAbout::Rename { at, to } => {
            let Called { result, encoding } = asked.at(first, *at, json!({ "newName": to })).await?;
            (encoding, LanguageFound::Changes(asked.changes(&result)?))
        }
        LanguageAbout::CodeActions(at) => {
            let Called { result, encoding } = asked.actions(at, problems).await?;
            let obstacle = |action: &Value| command::obstacle(action, caller.runs_commands()).map(str::to_owned);
            (encoding, LanguageFound::Actions(answer::actions(&result, obstacle)))
        }
        LanguageAbout::CodeAction { at, title } => {
            let Called { result, encoding } = asked.actions(at, problems).await?;
            let action = result.as_array().into_iter().flatten().find(|action| action["title"] == title.as_str());
            let Some(action) = action else {
                return Err(asked.refused(format!("there is no code action {title:?} at that place")));
            };
            if let Some(why) = action["disabled"]["reason"].as_str() {
                return Err(asked.refused(format!("{title:?} is not to be had there: {why}")));
            }
            let Called { result: edit, encoding } = asked.edit(title, action, encoding).await?;
            (encoding, LanguageFound::Changes(asked.changes(&edit)?))
        }
    };
    Ok(LanguageAnswer { by: caller.name().to_owned(), encoding, found })
}

struct Asked<'a> {
    question: &'a LanguageQuestion,
    caller: &'a dyn Caller,
}

impl Asked<'_> {
    fn document(&self) -> Value {
        let file = &self.question.file;
        json!({ "uri": file.open.as_ref().map_or_else(|| uri_from_path(&file.path), |(uri, _)| uri.clone()) })
    }

    fn position(&self, at: usize) -> Value {
        let position = position_of(&self.question.file.text, at, self.caller.encoding());
        json!({ "line": position.line, "character": position.column })
    }

    async fn at(&self, method: &str, at: usize, extra: Value) -> Result<Called, LanguageError> {
        let mut params = json!({ "textDocument": self.document(), "position": self.position(at) });
        for (key, value) in extra.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        self.caller.call(method, params).await
    }

    async fn calls(
        &self,
        at: usize,
        method: &str,
        end: &str,
    ) -> Result<(PositionEncoding, LanguageFound), LanguageError> {
        let Called { result, mut encoding } = self.at(self::method(&self.question.about), at, json!({})).await?;
        let mut calls = Vec::new();
        for item in result.as_array().into_iter().flatten().take(MOST_ITEMS) {
            let called = self.caller.call(method, json!({ "item": item })).await?;
            encoding = called.encoding;
            // The ranges stand with the caller, whichever end that is.
            calls.extend(answer::calls(&called.result, end, item));
        }
        Ok((encoding, LanguageFound::Calls(calls)))
    }

    async fn actions(&self, at: &Range<usize>, problems: Vec<Value>) -> Result<Called, LanguageError> {
        let range = json!({ "start": self.position(at.start), "end": self.position(at.end) });
        let lines = range["start"]["line"].as_u64()..=range["end"]["line"].as_u64();
        let touches = |problem: &Value| {
            let line = |end: &str| problem["range"][end]["line"].as_u64();
            line("start") <= *lines.end() && line("end") >= *lines.start()
        };
        let problems: Vec<Value> = problems.into_iter().filter(touches).collect();
        let context = json!({ "diagnostics": problems, "triggerKind": 1 });
        let params = json!({ "textDocument": self.document(), "range": range, "context": context });
        self.caller.call("textDocument/codeAction", params).await
    }

    /// The edit of an action: it stands in it, or is asked for, or comes of its command.
    async fn edit(&self, title: &str, action: &Value, encoding: PositionEncoding) -> Result<Called, LanguageError> {
        if answer::is_edit(&action["edit"]) {
            return Ok(Called { result: action["edit"].clone(), encoding });
        }
        let mut action = action.clone();
        if action.get("data").is_some() {
            let Called { result, encoding } = self.caller.call("codeAction/resolve", action).await?;
            if answer::is_edit(&result["edit"]) {
                return Ok(Called { result: result["edit"].clone(), encoding });
            }
            action = result;
            if let Some(data) = action.get_mut("data") {
                data.take();
            }
        }
        if let Some(why) = command::obstacle(&action, self.caller.runs_commands()) {
            return Err(self.refused(format!("{title:?} is {why}")));
        }
        let Some(command) = command::of(&action) else {
            return Err(self.refused(format!("{title:?} has nothing to change there")));
        };
        let Called { result, encoding } = self.caller.edits_of(command).await?;
        match result.as_array().map(Vec::as_slice) {
            Some([edit]) => Ok(Called { result: edit.clone(), encoding }),
            None | Some([]) => Err(self.refused(format!("{title:?} has nothing to change there"))),
            // The later ones may be meant for the text that the earlier ones make.
            Some(_) => Err(self.refused(format!("{title:?} would edit in several steps, which is not done from here"))),
        }
    }

    fn changes(&self, edit: &Value) -> Result<Vec<copydesk_engine::ports::LanguageChange>, LanguageError> {
        answer::changes(edit).map_err(|text| self.refused(text))
    }

    fn refused(&self, text: String) -> LanguageError {
        LanguageError::Refused { by: self.caller.name().to_owned(), text }
    }
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
