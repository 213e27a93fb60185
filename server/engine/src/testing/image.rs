//! Images whose pixels nobody looks at.

use crate::image::Image;

/// A PNG file of this size by its head, and whole by its chunks.
pub fn png_bytes(width: u32, height: u32) -> Vec<u8> {
    let head = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    let rest = b"\x08\x06\0\0\0\0\0\0\0\0\0\0\0IDAT\0\0\0\0\0\0\0\0IEND\xaeB`\x82";
    [&head[..], &width.to_be_bytes(), &height.to_be_bytes(), rest].concat()
}

pub fn png(width: u32, height: u32) -> Image {
    match Image::new(png_bytes(width, height)) {
        Ok(image) => image,
        Err(error) => panic!("no image of {width} × {height}: {error}"),
    }
}
