//! A stored prompt as a client is shown it again. What a client sends is taken in `acp_types`.

use agent_client_protocol_schema::v1 as acp;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use copydesk_engine::image::Prompt;
use copydesk_engine::message::PromptPart;

/// Text that stands together is one block.
pub(crate) fn blocks(prompt: &Prompt) -> Vec<acp::ContentBlock> {
    let mut blocks = Vec::new();
    let mut texts = Vec::new();
    for part in prompt.parts() {
        match shown(prompt, part) {
            Shown::Text(text) => texts.push(text),
            Shown::Image(image) => {
                blocks.extend(joined(&mut texts));
                blocks.push(acp::ContentBlock::Image(*image));
            }
        }
    }
    blocks.extend(joined(&mut texts));
    blocks
}

enum Shown {
    Text(String),
    Image(Box<acp::ImageContent>),
}

fn shown(prompt: &Prompt, part: &PromptPart) -> Shown {
    Shown::Text(match part {
        PromptPart::Text { text } => text.clone(),
        PromptPart::Link { uri, name } => format!("[{name}]({uri})"),
        PromptPart::Resource { uri, text } => format!("{uri}\n\n{text}"),
        PromptPart::Image { hash, uri, .. } => match prompt.image(*hash) {
            Some(image) => {
                let data = BASE64_STANDARD.encode(image.bytes());
                let content = acp::ImageContent::new(data, image.kind().mime()).uri(uri.clone());
                return Shown::Image(Box::new(content));
            }
            None => {
                format!("[an image that is lost{}]", uri.as_ref().map(|uri| format!(": {uri}")).unwrap_or_default())
            }
        },
    })
}

fn joined(texts: &mut Vec<String>) -> Option<acp::ContentBlock> {
    (!texts.is_empty()).then(|| acp::ContentBlock::from(std::mem::take(texts).join("\n\n")))
}
