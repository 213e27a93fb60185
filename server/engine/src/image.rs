//! Images of prompts: what they are by their bytes, and what stands for them where the bytes do not. Draws none and changes none.

mod whole;

use std::sync::Arc;

use copydesk_workspace::hash::ContentHash;
use serde::{Deserialize, Serialize};

use crate::message::PromptPart;

/// What providers take as it is sent, in bytes of base64: Anthropic's limit, and opencode's default.
pub const MAX_BASE64_BYTES: u64 = 5 * 1024 * 1024;

/// Anthropic refuses wider and higher ones, in pixels. A refused image would stand in every further request of its session.
pub const MAX_SIDE: usize = 8000;

/// The kinds that every provider with eyes takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageType {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/gif")]
    Gif,
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageType {
    /// By the bytes alone: names and declared types may be wrong.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match imagesize::image_type(bytes).ok()? {
            imagesize::ImageType::Png => Some(Self::Png),
            imagesize::ImageType::Jpeg => Some(Self::Jpeg),
            imagesize::ImageType::Gif => Some(Self::Gif),
            imagesize::ImageType::Webp => Some(Self::Webp),
            _ => None,
        }
    }

    pub fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// One with a head that can be read and an end. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    kind: ImageType,
    bytes: Arc<[u8]>,
    hash: ContentHash,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("it is no PNG, JPEG, GIF or WebP file; convert it to one of these")]
    Unknown,
    #[error("it is damaged or cut off; save it again")]
    Damaged,
    #[error(
        "it is {width} × {height} pixels large, and models take {MAX_SIDE} at most in each direction; make it smaller"
    )]
    TooManyPixels { width: usize, height: usize },
    #[error(
        "it takes {bytes} bytes in base64, and the limit is {limit} (`attachment.image.max_base64_bytes` of the configuration); make it smaller"
    )]
    TooLarge { bytes: u64, limit: u64 },
}

impl Image {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Result<Self, ImageError> {
        let bytes = bytes.into();
        let kind = ImageType::of(&bytes).ok_or(ImageError::Unknown)?;
        let size = imagesize::blob_size(&bytes).map_err(|_| ImageError::Damaged)?;
        if size.width == 0 || size.height == 0 || !whole::is_whole(kind, &bytes) {
            return Err(ImageError::Damaged);
        }
        if size.width.max(size.height) > MAX_SIDE {
            return Err(ImageError::TooManyPixels { width: size.width, height: size.height });
        }
        let hash = ContentHash::of(&bytes);
        Ok(Self { kind, bytes, hash })
    }

    pub fn kind(&self) -> ImageType {
        self.kind
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// `limit` is in bytes of base64.
    pub(crate) fn check_size(&self, limit: u64) -> Result<(), ImageError> {
        let bytes = (self.bytes.len() as u64).div_ceil(3) * 4;
        if bytes > limit { Err(ImageError::TooLarge { bytes, limit }) } else { Ok(()) }
    }
}

/// Without the bytes: requests are logged.
impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({}, {} bytes, {:?})", self.kind.mime(), self.bytes.len(), self.hash)
    }
}

/// What the user says: the parts as they are stored, and the images that they name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    parts: Vec<PromptPart>,
    images: Vec<Image>,
}

impl Prompt {
    /// The images that are known of those that `parts` name: the store may have lost one.
    pub(crate) fn stored(parts: Vec<PromptPart>, images: Vec<Image>) -> Self {
        Self { parts, images }
    }

    pub fn push(&mut self, part: PromptPart) {
        self.parts.push(part);
    }

    /// `uri` is where it comes from, where that is known.
    pub fn push_image(&mut self, image: Image, uri: Option<String>) {
        let (kind, hash, size) = (image.kind, image.hash, image.bytes.len() as u64);
        self.parts.push(PromptPart::Image { kind, hash, size, uri });
        if self.image(hash).is_none() {
            self.images.push(image);
        }
    }

    pub fn parts(&self) -> &[PromptPart] {
        &self.parts
    }

    pub fn images(&self) -> &[Image] {
        &self.images
    }

    pub fn image(&self, hash: ContentHash) -> Option<&Image> {
        self.images.iter().find(|image| image.hash == hash)
    }

    /// Whether there is nothing in it that a model could answer.
    pub fn says_nothing(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, PromptPart::Text { text } if text.trim().is_empty()))
    }

    pub(crate) fn split(self) -> (Vec<PromptPart>, Vec<Image>) {
        (self.parts, self.images)
    }
}

/// Of parts that name no image.
impl From<Vec<PromptPart>> for Prompt {
    fn from(parts: Vec<PromptPart>) -> Self {
        Self { parts, images: Vec::new() }
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
