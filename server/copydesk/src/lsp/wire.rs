//! LSP's values to ours and back.

use copydesk_protocol::rpc::RpcError;
use copydesk_workspace::position::{Position, PositionEncoding, position_of};
use ropey::Rope;
use std::ops::Range;
use tower_lsp_server::{jsonrpc, ls_types};

pub(super) fn position(position: ls_types::Position) -> Position {
    Position { line: position.line, column: position.character }
}

pub(super) fn range(text: &Rope, bytes: &Range<usize>, encoding: PositionEncoding) -> ls_types::Range {
    let at = |offset| {
        let position = position_of(text, offset, encoding);
        ls_types::Position { line: position.line, character: position.column }
    };
    ls_types::Range { start: at(bytes.start), end: at(bytes.end) }
}

pub(super) fn rpc_error(error: jsonrpc::Error) -> RpcError {
    RpcError { code: error.code.code(), message: error.message.into_owned(), data: error.data }
}
