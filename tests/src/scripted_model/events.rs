//! What a reply says, as the bytes of a wire protocol. Pure.

mod chat_completions;
pub(super) mod messages;

use serde_json::Value;

use super::wire::Wire;

/// What is said, whatever the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    /// The head of an answer.
    Begin,
    Text(String),
    Reasoning(String),
    /// A call begins, counted from zero.
    Call {
        index: usize,
        name: String,
    },
    /// A piece of the arguments of the call before.
    Arguments {
        index: usize,
        piece: String,
    },
    End {
        reason: Reason,
        usage: (u64, u64),
    },
    /// The body of an error in place of an answer.
    Refusal {
        status: u16,
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reason {
    /// By what was said.
    Usual { calls: bool },
    /// In the words of Chat Completions, or of no protocol.
    Other(String),
}

/// Turns what is said into bytes, one after the other.
pub(super) enum Events {
    ChatCompletions(chat_completions::Events),
    Messages(messages::Events),
}

impl Events {
    /// `number` is that of the request, and makes the ids of calls unique in a server, as those of providers are.
    pub(super) fn new(wire: Wire, number: usize) -> Self {
        match wire {
            Wire::ChatCompletions => Self::ChatCompletions(chat_completions::Events { number }),
            Wire::Messages => Self::Messages(messages::Events::new(number)),
        }
    }

    pub(super) fn say(&mut self, said: &Said) -> Vec<u8> {
        match self {
            Self::ChatCompletions(events) => events.say(said),
            Self::Messages(events) => events.say(said),
        }
    }
}

fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}
