//! The wire protocols that the server speaks: a request's path says which.

/// Both are served by every server, from the same script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wire {
    /// OpenAI's Chat Completions, as the strictest of the compatible providers take it.
    ChatCompletions,
    /// Anthropic's Messages.
    Messages,
}

impl Wire {
    pub const ALL: [Self; 2] = [Self::ChatCompletions, Self::Messages];

    /// `None`: nothing is served there.
    pub(super) fn of(method: &str, path: &str) -> Option<Self> {
        match (method, path) {
            ("POST", "/v1/chat/completions") => Some(Self::ChatCompletions),
            ("POST", "/v1/messages") => Some(Self::Messages),
            _ => None,
        }
    }

    /// The `npm` of a provider that speaks it.
    pub fn npm(self) -> &'static str {
        match self {
            Self::ChatCompletions => "@ai-sdk/openai-compatible",
            Self::Messages => "@ai-sdk/anthropic",
        }
    }
}
