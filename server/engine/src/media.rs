//! What a tool shows a model beside text: images, and documents that the model reads itself. Known by their bytes alone; draws and changes none.

mod pdf;

use copydesk_workspace::hash::ContentHash;
use serde::{Deserialize, Serialize};

use crate::image::{Image, ImageError, ImageType};
use crate::message::MediaPart;

pub use pdf::{MAX_PAGES, MAX_PDF_BYTES, Pdf, PdfError};

/// Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Media {
    Image(Image),
    Pdf(Pdf),
}

/// Written as a MIME type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    #[serde(rename = "application/pdf")]
    Pdf,
    #[serde(untagged)]
    Image(ImageType),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MediaError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Pdf(#[from] PdfError),
}

impl MediaType {
    /// By the first bytes of a file.
    pub fn of(head: &[u8]) -> Option<Self> {
        if Pdf::is_one(head) { Some(Self::Pdf) } else { ImageType::of(head).map(Self::Image) }
    }

    pub fn mime(self) -> &'static str {
        match self {
            Self::Image(kind) => kind.mime(),
            Self::Pdf => "application/pdf",
        }
    }
}

impl Media {
    pub fn new(bytes: Vec<u8>) -> Result<Self, MediaError> {
        match MediaType::of(&bytes) {
            Some(MediaType::Pdf) => Ok(Self::Pdf(Pdf::new(bytes)?)),
            Some(MediaType::Image(_)) | None => Ok(Self::Image(Image::new(bytes)?)),
        }
    }

    pub fn kind(&self) -> MediaType {
        match self {
            Self::Image(image) => MediaType::Image(image.kind()),
            Self::Pdf(_) => MediaType::Pdf,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Image(image) => image.bytes(),
            Self::Pdf(pdf) => pdf.bytes(),
        }
    }

    pub fn hash(&self) -> ContentHash {
        match self {
            Self::Image(image) => image.hash(),
            Self::Pdf(pdf) => pdf.hash(),
        }
    }

    pub fn as_image(&self) -> Option<&Image> {
        match self {
            Self::Image(image) => Some(image),
            Self::Pdf(_) => None,
        }
    }

    /// What a row says of it.
    pub fn part(&self) -> MediaPart {
        MediaPart { kind: self.kind(), hash: self.hash(), size: self.bytes().len() as u64 }
    }
}

impl From<Image> for Media {
    fn from(image: Image) -> Self {
        Self::Image(image)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::testing::{pdf_bytes, png_bytes};

    #[test]
    fn is_known_by_its_bytes_and_written_as_a_mime_type() {
        for (bytes, mime) in [(png_bytes(2, 3), "image/png"), (pdf_bytes(1), "application/pdf")] {
            let media = Media::new(bytes).unwrap();
            assert_eq!(media.kind().mime(), mime);
            let row = serde_json::to_value(media.part()).unwrap();
            assert_eq!(row["mime"], mime);
            assert_eq!(serde_json::from_value::<MediaPart>(row).unwrap(), media.part());
        }
        assert_eq!(Media::new(b"text".to_vec()), Err(MediaError::Image(ImageError::Unknown)));
        assert!(matches!(Media::new(b"%PDF-1.4\n".to_vec()), Err(MediaError::Pdf(_))));
    }
}
