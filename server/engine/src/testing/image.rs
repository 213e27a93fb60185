//! Images whose pixels nobody looks at.

use crate::image::Image;

/// A PNG file of this size as far as its head goes.
pub fn png_bytes(width: u32, height: u32) -> Vec<u8> {
    let head = *b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    [&head[..], &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x06\0\0\0\0\0\0\0"].concat()
}

pub fn png(width: u32, height: u32) -> Image {
    match Image::new(png_bytes(width, height)) {
        Ok(image) => image,
        Err(error) => panic!("no image of {width} × {height}: {error}"),
    }
}
