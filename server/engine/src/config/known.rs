//! Providers that need no configuration but a key, or none at all, and the variables in which keys are usually kept. A table: facts of the providers.

use crate::ports::WireProtocol;

pub(super) struct KnownProvider {
    pub(super) id: &'static str,
    pub(super) wire: WireProtocol,
    pub(super) base_url: &'static str,
    /// Variables that may hold the key; none for a server on this machine.
    pub(super) key_variables: &'static [&'static str],
}

impl KnownProvider {
    /// A server on this machine, which wants no key.
    pub(super) fn is_local(&self) -> bool {
        self.key_variables.is_empty() && self.base_url.starts_with("http://127.0.0.1:")
    }
}

const CHAT: WireProtocol = WireProtocol::ChatCompletions;
const MESSAGES: WireProtocol = WireProtocol::Messages;

pub(super) const KNOWN_PROVIDERS: &[KnownProvider] = &[
    KnownProvider {
        id: "anthropic",
        wire: MESSAGES,
        base_url: "https://api.anthropic.com/v1",
        key_variables: &["ANTHROPIC_API_KEY"],
    },
    KnownProvider {
        id: "openai",
        wire: CHAT,
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
    },
    KnownProvider {
        id: "openrouter",
        wire: CHAT,
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
    },
    KnownProvider {
        id: "groq",
        wire: CHAT,
        base_url: "https://api.groq.com/openai/v1",
        key_variables: &["GROQ_API_KEY"],
    },
    KnownProvider {
        id: "deepseek",
        wire: CHAT,
        base_url: "https://api.deepseek.com/v1",
        key_variables: &["DEEPSEEK_API_KEY"],
    },
    KnownProvider {
        id: "mistral",
        wire: CHAT,
        base_url: "https://api.mistral.ai/v1",
        key_variables: &["MISTRAL_API_KEY"],
    },
    KnownProvider {
        id: "together",
        wire: CHAT,
        base_url: "https://api.together.xyz/v1",
        key_variables: &["TOGETHER_API_KEY"],
    },
    KnownProvider {
        id: "togetherai",
        wire: CHAT,
        base_url: "https://api.together.xyz/v1",
        key_variables: &["TOGETHER_API_KEY"],
    },
    KnownProvider { id: "xai", wire: CHAT, base_url: "https://api.x.ai/v1", key_variables: &["XAI_API_KEY"] },
    KnownProvider { id: "ollama", wire: CHAT, base_url: "http://127.0.0.1:11434/v1", key_variables: &[] },
    KnownProvider { id: "lmstudio", wire: CHAT, base_url: "http://127.0.0.1:1234/v1", key_variables: &[] },
    KnownProvider { id: "llama.cpp", wire: CHAT, base_url: "http://127.0.0.1:8080/v1", key_variables: &[] },
];

/// Hidden from children whatever is configured, besides those of the table.
pub(super) const OTHER_KEY_VARIABLES: &[&str] = &[
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "COHERE_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPINFRA_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "MOONSHOT_API_KEY",
    "NVIDIA_API_KEY",
    "OPENCODE_API_KEY",
    "PERPLEXITY_API_KEY",
    "REPLICATE_API_TOKEN",
    "VENICE_API_KEY",
    "ZAI_API_KEY",
    "ZHIPU_API_KEY",
];
