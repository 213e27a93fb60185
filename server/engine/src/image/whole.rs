//! Whether the bytes of an image go on to its end: providers refuse one that is cut off, and then every further request of its session. Follows the lengths
//! that each format writes down; decodes no pixel.

use super::ImageType;

/// What stands behind the end is nothing to decoders, and nothing here.
pub(super) fn is_whole(kind: ImageType, bytes: &[u8]) -> bool {
    let found = match kind {
        ImageType::Png => png(bytes),
        ImageType::Jpeg => jpeg(bytes),
        ImageType::Gif => gif(bytes),
        ImageType::Webp => webp(bytes),
    };
    found.is_some()
}

/// Chunks up to `IEND`, with pixels among them (PNG, third edition, 5.3).
fn png(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    let mut has_pixels = false;
    loop {
        let length = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
        let name = rest.get(4..8)?;
        rest = rest.get(8..)?.get(length..)?.get(4..)?;
        match name {
            b"IDAT" => has_pixels = true,
            b"IEND" => return has_pixels.then_some(()),
            _ => {}
        }
    }
}

/// Segments up to the first scan, then an end of image (ITU T.81, B.1.1). One in a thumbnail, before the scan, is none.
fn jpeg(bytes: &[u8]) -> Option<()> {
    const START_OF_SCAN: u8 = 0xDA;
    let mut rest = bytes.get(2..)?;
    loop {
        let (&marker, after) = rest.strip_prefix(b"\xFF")?.split_first()?;
        rest = match marker {
            // A fill byte.
            0xFF => rest.get(1..)?,
            START_OF_SCAN => return after.windows(2).any(|pair| pair == b"\xFF\xD9").then_some(()),
            // Markers without a segment.
            0x01 | 0xD0..=0xD8 => after,
            _ => after.get(usize::from(u16::from_be_bytes(*after.first_chunk()?))..)?,
        };
    }
}

/// Blocks up to the trailer, with an image among them (GIF89a, appendix B).
fn gif(bytes: &[u8]) -> Option<()> {
    let mut rest = after_color_table(bytes.get(10..)?, 3)?;
    let mut has_image = false;
    loop {
        let (&introducer, after) = rest.split_first()?;
        rest = match introducer {
            b',' => {
                has_image = true;
                after_sub_blocks(after_color_table(after.get(8..)?, 1)?.get(1..)?)?
            }
            b'!' => after_sub_blocks(after.get(1..)?)?,
            b';' => return has_image.then_some(()),
            _ => return None,
        };
    }
}

/// `bytes` begins with the flags; the table stands `fields` bytes behind them.
fn after_color_table(bytes: &[u8], fields: usize) -> Option<&[u8]> {
    let flags = *bytes.first()?;
    let table = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    bytes.get(fields..)?.get(table..)
}

fn after_sub_blocks(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (&length, after) = bytes.split_first()?;
        bytes = after.get(usize::from(length)..)?;
        if length == 0 {
            return Some(bytes);
        }
    }
}

/// The length of the whole, which stands in its head.
fn webp(bytes: &[u8]) -> Option<()> {
    let length = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
    bytes.get(8..)?.get(..usize::try_from(length).ok()?).map(|_| ())
}
